--- Typed-data requests for specs, written as text so that a spec can break them anywhere.
local requests = {}

requests.SIGNER = "0xabcdef0123456789abcdef0123456789abcdef01"

--- The declaration of one struct; members are { name, type }.
---@param name string
---@param list string[][]
function requests.struct(name, list)
  local pieces = {}
  for n, member in ipairs(list) do
    pieces[n] = ('{"name":"%s","type":"%s"}'):format(member[1], member[2])
  end
  return ('"%s":[%s]'):format(name, table.concat(pieces, ","))
end

--- A request whose primary type is T.
---@param types string declarations, T among them
---@param message string
---@param rest string? what stands behind typed_data, comma included
function requests.of(types, message, rest)
  return ('{"schema_version":"1","kind":"typed_data_signature_request","signer":"%s",'
    .. '"typed_data":{"types":{"EIP712Domain":[{"name":"name","type":"string"}],%s},'
    .. '"primaryType":"T","domain":{"name":"D"},"message":%s}%s}'):format(requests.SIGNER, types,
    message, rest or "")
end

--- The smallest one: a struct without members.
function requests.tiny(rest) return requests.of(requests.struct("T", {}), "{}", rest) end

--- "Ether Mail", the example of EIP-712: nested structs, all of the domain but salt.
requests.MAIL = '{"schema_version":"1","kind":"typed_data_signature_request",'
  .. '"signer":"0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826","typed_data":{"types":{"EIP712Domain":['
  .. '{"name":"name","type":"string"},{"name":"version","type":"string"},'
  .. '{"name":"chainId","type":"uint256"},{"name":"verifyingContract","type":"address"}],'
  .. '"Person":[{"name":"name","type":"string"},{"name":"wallet","type":"address"}],'
  .. '"Mail":[{"name":"from","type":"Person"},{"name":"to","type":"Person"},'
  .. '{"name":"contents","type":"string"}]},"primaryType":"Mail","domain":{"name":"Ether Mail",'
  .. '"version":"1","chainId":"1","verifyingContract":"0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"},'
  .. '"message":{"from":{"name":"Cow","wallet":"0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},'
  .. '"to":{"name":"Bob","wallet":"0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},'
  .. '"contents":"Hello, Bob!"}}}'

--- From EIP-712's own example (ethereum/EIPs, assets/eip-712/Example.js).
requests.MAIL_DIGESTS = {
  domain_separator = "0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f",
  message_hash = "0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e",
  signing_digest = "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2",
}

return requests
