--- Files, named by what they hold.

local ALGORITHMS = {
  sha256 = moonplan.sha256, -- FIPS 180-4
  blake2b = moonplan.blake2b, -- RFC 7693, 32 bytes, no key
  keccak256 = moonplan.keccak256, -- as Ethereum has it, not NIST's SHA3-256
}

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "hash.file",
    version = "1.0.0",
    summary = "Hash a file: SHA-256, BLAKE2b of 32 bytes, or Keccak-256.",
    risk = "read",
    needs = { "fs" },
    input = {
      path = { type = "string", required = true, max_length = 4096,
        description = "file below the granted root: names with / between them" },
      algorithm = { type = "string", enum = { "sha256", "blake2b", "keccak256" },
        description = "sha256 without one" },
    },
    output = {
      digest = { type = "string", description = "0x and 64 lower-case hexadecimal digits" },
    },
    -- FIPS 180-4, example B.1; RFC 7693's function at 32 bytes; Keccak-256 of nothing, which is
    -- the code hash of an account without code.
    examples = {
      {
        given = { fs = { ["abc"] = "abc" } },
        input = { path = "abc", algorithm = "sha256" },
        output = { digest = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
      },
      {
        given = { fs = { ["abc"] = "abc" } },
        input = { path = "abc", algorithm = "blake2b" },
        output = { digest = "0xbddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319" },
      },
      {
        given = { fs = { ["empty"] = "" } },
        input = { path = "empty", algorithm = "keccak256" },
        output = { digest = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470" },
      },
    },
    run = function(input, ctx)
      local bytes, err = ctx.fs.read(input.path)
      if not bytes then return nil, err end
      return { digest = ALGORITHMS[input.algorithm or "sha256"](bytes) }
    end,
  },
}
