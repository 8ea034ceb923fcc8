import { slotsOf } from '../../../nfc/ntag424/template/parse.ts'
import { whyUnfilled } from '../../../nfc/tap-url.ts'
import { uidToColons } from '../../../nfc/uid.ts'
import type { Db } from '../../store/database/database.ts'
import type { KeyRing } from '../chips/key-ring.ts'
import type { JudgedTap } from './take-tap.ts'
import { listTapRecords, type TapLog } from './tap-log.ts'
import { type TapQuery, type VerifyTapDeps, verifyTap } from './verify-tap.ts'

// Why a tap is refused, and what to do: the one place that chooses the sentence. It is for whoever runs the daemon.

export type RefusedTap = Exclude<JudgedTap<never>, { kind: 'taken' }>

const learn = 'tapchip key-sets learn --url URL --keys FILE'

/** Does not tell an unregistered UID from a key set that is not loaded. */
export const refusedStranger =
  'No chip here made this tap: it is not registered, or its key set is not loaded. ' +
  'Whoever runs this daemon can see which: tapchip chips find URL'

export function whyRefused(keyRing: KeyRing, query: TapQuery, judged: RefusedTap): string {
  switch (judged.kind) {
    case 'malformed':
      return `${judged.field} ${judged.reason}.`
    case 'unknown':
      return unfilledIn(keyRing, query) ?? whyUnknown(judged)
    case 'forged':
      return unfilledIn(keyRing, query) ?? whyForged(keyRing, query, judged)
    case 'disabled':
      return 'The chip is disabled. Enable it: tapchip chips enable'
    case 'caught-up':
      return 'The daemon was restored from a backup, so this first tap only brings the counter of the chip up to date. Tap again.'
    case 'replayed':
      return (
        `The tap was used before, or is an old one: its counter is ${judged.counter}, and the last one that the daemon has seen is ` +
        `${judged.chip.lastCounter}. Tap again; if that does not help, the chip was set up again elsewhere, or its taps were simulated.`
      )
  }
}

/** Says nothing of chips, so everybody may read it. */
export const unfilledIn = (keyRing: KeyRing, query: TapQuery): string | undefined =>
  whyUnfilled(keyRing.parameterNames().map((name) => [name, textOf(query, name)]))

function whyUnknown({ reason, keySetId, keySetIds, uid }: Extract<RefusedTap, { kind: 'unknown' }>): string {
  if (reason === 'unknown-key-set')
    return keySetId === null
      ? 'There is no key set that the tap could be checked with. Load one: tapchip key-sets create --file FILE'
      : `There is no key set ${keySetId}, which this tap names. Load it: tapchip key-sets create --file FILE. Those there are: tapchip key-sets list`
  const [keySet] = keySetIds
  if (uid === null)
    return `The URL does not decrypt to a UID with ${named(keySetIds)}: the chip has other keys, or the URL was changed. Find out with your keys: ${learn}`
  return keySet === undefined
    ? `The HaLo chip with the UID ${uidToColons(uid)} is not registered. Register it by its public key (column publicKey): tapchip chips import --file CSV --chip-group NAME`
    : `The chip with the UID ${uidToColons(uid)} is not registered. Register it: tapchip chips import --file CSV --chip-group NAME --key-set ${keySet}`
}

function whyForged(
  keyRing: KeyRing,
  query: TapQuery,
  { chip, keySetIds }: Extract<RefusedTap, { kind: 'forged' }>,
): string {
  if (keySetIds.length === 0)
    return 'The signature is not one of this HaLo chip: the URL was changed on its way, or was put together. Tap the chip again.'
  const own = chip.keySetId === null ? undefined : keyRing.get(chip.keySetId)
  if (own === undefined || !keySetIds.includes(own.id))
    return `The chip is registered ${own ? `under the key set ${own.id}` : 'without a key set'}, and its URL fits only ${named(keySetIds)}. If the registration is wrong, remove the chip, and import it under the right key set.`
  const read = own.template.parameters.map(({ name }) => name)
  const encrypted = Object.keys(query).find(
    (name) => !read.includes(name) && /^([0-9a-f]{32})+$/i.test(textOf(query, name) ?? ''),
  )
  if (encrypted !== undefined && !slotsOf(own.template.query).includes('enc'))
    return `The URL has encrypted data in ${encrypted}, and the template of the key set ${own.id} has none, so the MAC covers something else: ${own.template.text}. Find the template that fits: ${learn}`
  return `The tap is not signed with the keys that the daemon has for this chip: the URL was changed on its way, or the chip has other keys. Tap again; if that does not help, find out with your keys: ${learn}`
}

const textOf = (query: TapQuery, name: string): string | undefined => {
  const value = Object.hasOwn(query, name) ? query[name] : undefined
  return typeof value === 'string' ? value : undefined
}

const named = (ids: readonly number[]): string =>
  `the key set${ids.length === 1 ? '' : 's'} ${ids.join(', ')}`

/**
 * Why a tap is refused, without using it up: one that was just refused is refused again.
 * @param teamId of the caller; absent: all teams @returns null for a tap that would be valid
 */
export async function explainTap(
  deps: VerifyTapDeps & { db: Db; tapLog: TapLog },
  query: TapQuery,
  teamId: number | undefined,
): Promise<string | null> {
  const verified = await verifyTap(deps, query)
  if ('chip' in verified && teamId !== undefined && verified.chip.teamId !== teamId)
    return 'The chip is registered by another team, which alone can see why.'
  if (verified.kind !== 'genuine') return whyRefused(deps.keyRing, query, verified)
  const { chip, counter } = verified
  if (chip.disabledAt !== null) return whyRefused(deps.keyRing, query, { kind: 'disabled', chip, counter })
  if (counter > chip.lastCounter) return null
  const records = counter === chip.lastCounter ? await listTapRecords(deps, { uid: chip.uid, limit: 20 }) : []
  const isCatchUp = records.some((tap) => tap.outcome === 'caught-up' && tap.counter === counter)
  return whyRefused(deps.keyRing, query, { kind: isCatchUp ? 'caught-up' : 'replayed', chip, counter })
}
