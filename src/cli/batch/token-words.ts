import { colons, uidOnWire } from '../uid.ts'
import { tokenColumns } from './token-columns.ts'
import type { TokenTarget } from './token-records.ts'

/** As a person reads it. */
export const targetWords = (target: TokenTarget): string =>
  'uid' in target
    ? `${target.uid} (${colons(target.uid)})`
    : `#${target.tokenId} of ${target.contractAddress} on ${target.chainId}`

/** As the daemon takes it. */
export const targetOnWire = (target: TokenTarget): TokenTarget =>
  'uid' in target ? { uid: uidOnWire(target.uid) } : target

/** The columns that such rows need in a sheet, and a row's cells in them. */
export const targetSheet = (targets: readonly TokenTarget[]) => {
  const hasChips = targets.some((target) => 'uid' in target)
  const hasTokens = targets.some((target) => !('uid' in target))
  const [uid, ...token] = tokenColumns
  const heading: readonly string[] = [...(hasChips ? [uid] : []), ...(hasTokens ? token : [])]
  const cells = (target: TokenTarget): string[] => {
    const known: Readonly<Record<string, string>> =
      'uid' in target ? { uid: colons(target.uid) } : { ...target, chainId: String(target.chainId) }
    return heading.map((column) => known[column] ?? '')
  }
  return { heading, cells }
}

const etherDigits = 18

/** Wei as ether: `0.0905`, with as many places as say something. */
export const asEther = (wei: bigint): string => decimal(wei, etherDigits)
export const asGwei = (wei: bigint): string => decimal(wei, 9)

const decimal = (wei: bigint, digits: number): string => {
  const text = wei.toString().padStart(digits + 1, '0')
  const whole = text.slice(0, -digits)
  const fraction = text.slice(-digits)
  // Four digits beyond the leading zeros; nobody reads more.
  const shown = whole === '0' ? (/^0*\d{0,4}/.exec(fraction)?.[0] ?? '') : fraction.slice(0, 4)
  const places = shown.replace(/0+$/, '')
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${places === '' ? '' : `.${places}`}`
}

/** To three digits that say something, and never to less. */
export const roundedUp = (wei: bigint): bigint => {
  const unit = 10n ** BigInt(Math.max(0, wei.toString().length - 3))
  return ((wei + unit - 1n) / unit) * unit
}
