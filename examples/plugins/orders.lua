--- Orders, kept for as long as the engine lives: what two capabilities of one file share.

-- All members of a family run in one Lua state, which is theirs alone.
local orders = {}

-- The same order twice is one order, so a step that is run again does no harm.
local function id_of(sku, quantity)
  return "order-" .. moonplan.sha256(json.encode { sku = sku, quantity = quantity }):sub(3, 10)
end

local ORDER = {
  id = { type = "string", description = "order- and 8 hexadecimal digits" },
  sku = { type = "string", description = "what is ordered" },
  quantity = { type = "number", integer = true, min = 1, description = "how many" },
}

---@type moonplan.Capability[]
return {
  {
    kind = "capability",
    api = 1,
    name = "orders.create",
    version = "1.0.0",
    summary = "Place an order.",
    risk = "write",
    input = {
      sku = { type = "string", required = true, max_length = 64, description = "what to order" },
      quantity = { type = "number", required = true, integer = true, min = 1, max = 100,
        description = "how many" },
    },
    output = ORDER,
    examples = {
      {
        input = { sku = "book", quantity = 1 },
        output = { id = "order-2d25aa19", sku = "book", quantity = 1 },
      },
      { input = { sku = " ", quantity = 1 }, error = "an order needs something to order" },
    },
    run = function(input, ctx)
      if not input.sku:find("%S") then return nil, "an order needs something to order" end
      local id = id_of(input.sku, input.quantity)
      orders[id] = { id = id, sku = input.sku, quantity = input.quantity }
      ctx.log.info("ordered", { id = id })
      return orders[id]
    end,
  },
  {
    kind = "capability",
    api = 1,
    name = "orders.read",
    version = "1.0.0",
    summary = "Look an order up.",
    risk = "read",
    input = {
      id = { type = "string", required = true, description = "as orders.create gave it" },
    },
    output = ORDER,
    examples = {
      { input = { id = "order-0" }, error = 'there is no order "order-0"' },
    },
    run = function(input)
      local order = orders[input.id]
      if not order then return nil, ("there is no order %q"):format(input.id) end
      return order
    end,
  },
}
