--- Files, named by what they hold.

local ALGORITHMS = {
  sha256 = moonplan.sha256, -- FIPS 180-4
  blake2b = moonplan.blake2b, -- RFC 7693, 32 bytes, no key
  keccak256 = moonplan.keccak256, -- as Ethereum has it, not NIST's SHA3-256
}

local ALGORITHM_NAMES = { "sha256", "blake2b", "keccak256" }

-- sha256sum's own way with names that would break its lines (GNU coreutils manual, "md5sum
-- invocation"): a backslash in front of the line, and these two written so.
local function manifest_line(path, digest)
  local escaped, changes = path:gsub("[\\\n]", { ["\\"] = "\\\\", ["\n"] = "\\n" })
  return (changes > 0 and "\\" or "") .. digest:sub(3) .. "  " .. escaped .. "\n"
end

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
  {
    kind = "capability",
    api = 1,
    name = "hash.files",
    version = "1.0.0",
    summary = "Hash every file of a list.",
    risk = "read",
    needs = { "fs" },
    input = {
      paths = { type = "array", required = true,
        description = "files below the granted root, as fs.list gives them" },
      algorithm = { type = "string", enum = ALGORITHM_NAMES, description = "sha256 without one" },
    },
    output = {
      digests = { type = "array", description = "an object with path and digest for each file" },
    },
    -- FIPS 180-4, example B.1, and the digest of nothing.
    examples = {
      {
        given = { fs = { ["a/abc"] = "abc", ["empty"] = "" } },
        input = { paths = { "a/abc", "empty" }, algorithm = "sha256" },
        output = { digests = {
          { path = "a/abc",
            digest = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
          { path = "empty",
            digest = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        } },
      },
      { input = { paths = moonplan.array {} }, output = { digests = moonplan.array {} } },
      { input = { paths = { 1 } }, error = "path 1 of the list is no text" },
    },
    run = function(input, ctx)
      local hash, digests = ALGORITHMS[input.algorithm or "sha256"], {}
      for i, path in ipairs(input.paths) do
        if type(path) ~= "string" then return nil, ("path %d of the list is no text"):format(i) end
        local bytes, err = ctx.fs.read(path)
        if not bytes then return nil, err end
        digests[i] = { path = path, digest = hash(bytes) }
      end
      return { digests = moonplan.array(digests) }
    end,
  },
  {
    kind = "capability",
    api = 1,
    name = "hash.manifest",
    version = "1.0.0",
    summary = "Write digests as the lines that sha256sum writes and checks.",
    risk = "read",
    input = {
      digests = { type = "array", required = true,
        description = "an object with path and digest for each file, as hash.files gives them" },
    },
    output = {
      text = { type = "string", description = "a line for each: digits, two spaces, path" },
      digest = { type = "string", description = "the SHA-256 of that text" },
    },
    -- What `sha256sum abc` prints where the file holds abc, and the SHA-256 of that line.
    examples = {
      {
        input = { digests = { { path = "abc",
          digest = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" } } },
        output = {
          text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc\n",
          digest = "0xc32c110b2834d02b24bc526c30104802e185619f83437476d29715655b42941d",
        },
      },
      {
        input = { digests = { { path = "a" } } },
        error = "digest 1 of the list has no path, or no 0x and 64 digits",
      },
    },
    run = function(input)
      local lines = {}
      for i, one in ipairs(input.digests) do
        local path, digest
        if type(one) == "table" then path, digest = one.path, one.digest end
        if type(path) ~= "string" or type(digest) ~= "string" or #digest ~= 66
          or not digest:find("^0x[0-9a-f]+$") then
          return nil, ("digest %d of the list has no path, or no 0x and 64 digits"):format(i)
        end
        lines[i] = manifest_line(path, digest)
      end
      local text = table.concat(lines)
      return { text = text, digest = moonplan.sha256(text) }
    end,
  },
}
