import { isHaloTap, parseHaloTap, verifyHaloTap } from '../../../nfc/halo/tap.ts'
import { decryptPiccData, macInputText, verifySunMac } from '../../../nfc/ntag424/sun.ts'
import { uidFromBytes } from '../../../nfc/uid.ts'
import { findChip, findChipByPublicKey, type TappedChip } from '../../store/chips.ts'
import type { Db } from '../../store/database.ts'
import { type KeyRing, type KeySet, usualNames } from '../chips/key-ring.ts'

/** The parameters of a tap's URL as they came; a name given twice is a list. */
export type TapQuery = Readonly<Record<string, unknown>>

/** What the parameters of a tap say, before the tap is taken. */
export type ReadTap =
  | { kind: 'malformed'; field: string; reason: string }
  | { kind: 'unknown'; reason: 'unknown-chip' | 'unknown-key-set'; keySetId: number | null }
  /** The chip is known, and did not make this. */
  | { kind: 'forged'; chip: TappedChip; keySetId: number | null }
  /** The chip made this, at this count: it may have been shown before. */
  | { kind: 'genuine'; chip: TappedChip; counter: number }

interface ReadTapDeps {
  db: Pick<Db, 'read'>
  keyRing: KeyRing
}

/** Proves a tap real from its URL's parameters. Uses nothing up. */
export async function readTap(deps: ReadTapDeps, query: TapQuery): Promise<ReadTap> {
  const templates = deps.keyRing.templates()
  const read: Parameters = Object.create(null)
  for (const name of deps.keyRing.parameterNames()) {
    const value = Object.hasOwn(query, name) ? query[name] : undefined
    if (typeof value === 'string') read[name] = value
    else if (typeof value === 'number') read[name] = String(value)
    else if (value !== undefined) return malformed(name, 'must be given once')
  }
  const matching = templates.filter(({ e, c }) => read[e] !== undefined && read[c] !== undefined)
  if (matching.length > 0) return readSunTap(deps, read, matching)
  if (isHaloTap(read)) return readHaloTap(deps, read)
  return malformed(read.e === undefined ? 'e' : 'c', 'is missing: open the URL that the chip shows, whole')
}

type Parameters = Record<string, string | undefined>
type Names = KeySet['names']
const malformed = (field: string, reason: string): ReadTap => ({ kind: 'malformed', field, reason })

async function readSunTap(
  { db, keyRing }: ReadTapDeps,
  query: Parameters,
  matching: readonly Names[],
): Promise<ReadTap> {
  // A template whose d is there says more than one whose d is not.
  const names = matching.find((one) => query[one.d] !== undefined) ?? matching[0] ?? usualNames
  const e = query[names.e] ?? ''
  const c = query[names.c] ?? ''
  const d = query[names.d]
  if (!/^([0-9A-Fa-f]{32}|[0-9A-Fa-f]{48})$/.test(e))
    return malformed(names.e, 'must be 32 hex digits (48 in LRP mode)')
  if (!/^[0-9A-Fa-f]{16}$/.test(c)) return malformed(names.c, 'must be 16 hex digits')
  if (d !== undefined && !/^\d{1,10}$/.test(d)) return malformed(names.d, 'must be the number of a key set')

  const set = keySetOf(keyRing, query, matching)
  if (!set)
    return { kind: 'unknown', reason: 'unknown-key-set', keySetId: d === undefined ? null : Number(d) }
  const picc = decryptPiccData(set.metaRead, Buffer.from(e, 'hex'))
  const chip = picc && (await findChip(db.read, uidFromBytes(picc.uid)))
  if (!chip) return { kind: 'unknown', reason: 'unknown-chip', keySetId: set.id }
  const forged: ReadTap = { kind: 'forged', chip, keySetId: set.id }
  // A chip verifies under its own key set alone: the holder of another set's keys could make its taps otherwise.
  if (chip.keySetId !== set.id) return forged
  const key = keyRing.fileReadKey(set, chip)
  if (!key || !verifySunMac(key, picc, macText(set, e), Buffer.from(c, 'hex'))) return forged
  return { kind: 'genuine', chip, counter: picc.counter }
}

/** The key set that a tap names in the words of its own template, or the only one where it names none. */
function keySetOf(keyRing: KeyRing, query: Parameters, matching: readonly Names[]): KeySet | undefined {
  const isOf = (set: KeySet | undefined, { e, c, d }: Names) =>
    set?.names.e === e && set.names.c === c && set.names.d === d
  for (const names of matching) {
    const d = query[names.d]
    const set = d === undefined ? keyRing.only() : keyRing.get(Number(d))
    if (isOf(set, names)) return set
  }
  return undefined
}

const macText = (set: KeySet, e: string): string =>
  macInputText({ from: set.macInputFrom, names: set.names, d: String(set.id), e })

async function readHaloTap({ db }: ReadTapDeps, query: Parameters): Promise<ReadTap> {
  const parsed = parseHaloTap(query)
  if (!parsed.ok) return malformed(parsed.parameter, parsed.reason)
  const chip = await findChipByPublicKey(db.read, parsed.tap.pk2.toString('hex').toUpperCase())
  if (!chip) return { kind: 'unknown', reason: 'unknown-chip', keySetId: null }
  if (!verifyHaloTap(parsed.tap)) return { kind: 'forged', chip, keySetId: null }
  return { kind: 'genuine', chip, counter: parsed.tap.counter }
}

type TapState = 'malformed' | 'unknown' | 'forged' | 'disabled' | 'replayed' | 'fresh'

/** What would become of a tap, without taking it. */
export async function tapState(deps: ReadTapDeps, query: TapQuery): Promise<TapState> {
  const read = await readTap(deps, query)
  if (read.kind !== 'genuine') return read.kind
  if (read.chip.disabledAt !== null) return 'disabled'
  return read.counter > read.chip.lastCounter ? 'fresh' : 'replayed'
}
