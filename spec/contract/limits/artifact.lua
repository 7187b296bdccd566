--- The limit of artifact references.

return {
  envelope_bytes = {
    values = { 200, 1000 }, code = "limit", at = "", nowhere = true, door = "reference",
    needs = function(n)
      local envelope = '{"kind":"artifact_reference","artifact_type":"execution_plan","url":"data:application/json,"}'
      return envelope .. (" "):rep(n - #envelope)
    end,
  },
}
