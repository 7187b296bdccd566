--- Plans about files.

---@type moonplan.Builder[]
return {
  {
    kind = "builder",
    api = 1,
    name = "files.digest",
    version = "1.0.0",
    builds = "step_plan",
    uses = { "fs.list", "hash.files", "hash.manifest" },
    summary = "List the files of a folder, hash each one, and report the digests.",
    params = {
      path = { type = "string", max_length = 4096,
        description = "folder below the root granted to the run; the root itself without it" },
      recursive = { type = "boolean", description = "the folders in it as well" },
      algorithm = { type = "string", enum = { "sha256", "blake2b", "keccak256" },
        description = "sha256 without one" },
    },
    examples = {
      {
        params = { path = "reports", recursive = true, algorithm = "blake2b" },
        plan = {
          version = "1.0",
          goal = "Digests of the files in reports",
          steps = {
            { id = "list", capability = "fs.list", input = { path = "reports", recursive = true } },
            { id = "hash", capability = "hash.files", input = {
              paths = { ["$ref"] = "steps.list.result.files" }, algorithm = "blake2b" } },
            { id = "report", capability = "hash.manifest", input = {
              digests = { ["$ref"] = "steps.hash.result.digests" } } },
          },
        },
      },
      {
        params = { algorithm = "md5" },
        error = 'the parameter "algorithm" is "md5"; there are: "sha256", "blake2b", "keccak256"',
      },
    },
    build = function(p, plan)
      plan:goal(("Digests of the files in %s"):format(p.path or "the granted folder"))
      local list = plan:step("list", "fs.list", { path = p.path, recursive = p.recursive })
      local hashes = plan:step("hash", "hash.files",
        { paths = list.files, algorithm = p.algorithm })
      plan:step("report", "hash.manifest", { digests = hashes.digests })
    end,
  },
}
