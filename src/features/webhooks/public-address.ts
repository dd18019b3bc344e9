import { BlockList, isIP } from 'node:net'

/** Networks in the IANA special-purpose registries. They are private, local, reserved, or translated to other networks. */
const special = new BlockList()
for (const network of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
])
  addNetwork(special, network)

// Allocated range of public IPv6 addresses. The range excludes local, multicast, mapped IPv4 and NAT64 addresses, but includes
// 6to4 and Teredo.
const allocatedRange = new BlockList()
addNetwork(allocatedRange, '2000::/3')

/** Returns true if the address is reachable from the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  // An address with a zone index is link-local.
  return family === 6 && !address.includes('%') && allocatedRange.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

function addNetwork(list: BlockList, network: string): void {
  const [address, prefix] = network.split('/') as [string, string]
  list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
