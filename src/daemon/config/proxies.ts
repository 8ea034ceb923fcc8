import { ConfigProblem } from './problem.ts'

/** How many proxies to trust, or which. @throws ConfigProblem */
export function proxies(value: string | number | readonly string[]): number | readonly string[] {
  if (typeof value === 'number' || /^\d+$/.test(String(value))) return Number(value)
  const list = typeof value === 'string' ? value.split(',').map((range) => range.trim()) : value
  const bad = list.find((range) => !/^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(range))
  if (bad !== undefined)
    throw new ConfigProblem(
      `trustProxy (TAPCHIP_TRUST_PROXY) must be a number of hops or CIDR ranges, not "${bad}"`,
    )
  return list
}
