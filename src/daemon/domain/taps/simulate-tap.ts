import { randomBytes } from 'node:crypto'
import type { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { encryptFileData, encryptPiccData, type SdmInput, sunMac } from '../../../nfc/ntag424/sun.ts'
import { dataFor } from '../../../nfc/ntag424/template/file.ts'
import { filled, macInput, type TapValues } from '../../../nfc/ntag424/template/match.ts'
import { slotsOf, type UrlTemplate } from '../../../nfc/ntag424/template/parse.ts'
import { uidToBytes } from '../../../nfc/uid.ts'
import { maxCounter } from '../../../values/chip-columns.ts'
import { TimeSlice } from '../../../values/time-slices.ts'
import { recordChange } from '../../store/audit/audit.ts'
import { takeSimulatedCounters } from '../../store/chips/chip-records.ts'
import type { Db } from '../../store/database/database.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { assertMayTransfer, type Operator } from '../access/grants.ts'
import { chipOf, hasBindings, type UidReadings } from '../chips/chip-record.ts'
import type { KeyRing, KeySet } from '../chips/key-ring.ts'
import { conflict } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

interface SimulatedTap {
  uid: string
  url: string
  /** null where the template has no {picc}. */
  e: string | null
  c: string
  /** null where the template has no {keySet}. */
  d: string | null
  counter: number
}

interface Deps {
  db: Db
  keyRing: KeyRing
  clock: Clock
  baseUrl: string
  config: { ephemeral: boolean }
}

/** Padding bytes in an AES-mode `e`. */
const padding = 5

/**
 * Creates the URLs of a chip's next taps, continuing after the last call even if its URLs were not used. @throws
 * DomainError not_found, conflict if the chip is physical or its URLs cannot be made, scope_missing if it carries
 * assets, since its taps give codes for them
 */
export async function simulateTaps(
  deps: Deps,
  { actor, holder }: Operator,
  readings: UidReadings,
  count: number,
): Promise<SimulatedTap[]> {
  const { db, clock, config } = deps
  const at = iso(clock.now())
  const { chip, keys, first } = await db.write(async (trx) => {
    const chip = await chipOf(trx, actor, readings)
    assertSimulated(chip, config)
    if (!config.ephemeral && (await hasBindings(trx, chip)))
      assertMayTransfer(holder, 'simulating the taps of a chip that carries assets')
    const keys = keysOf(deps, chip)
    const { uid, teamId, simulatedCounter: from } = chip
    const last = Math.max(chip.lastCounter, from, 0)
    const to = last + count
    if (to > maxCounter) {
      throw conflict(
        `The chip's counter is at ${last} of at most ${maxCounter}, so it does not have ${count} taps left.`,
      )
    }
    if (!(await takeSimulatedCounters(trx, { uid, from, to })))
      throw conflict('The chip was changed in the meantime. Try again.')
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'taps.simulate',
      target: uid,
      detail: { from: last + 1, to },
    })
    return { chip, keys, first: last + 1 }
  })
  const taps: SimulatedTap[] = []
  const slice = new TimeSlice()
  for (let counter = first; counter < first + count; counter += 1) {
    taps.push(tapOf(deps.baseUrl, chip.uid, keys, counter))
    if (slice.shouldYield) await slice.next()
  }
  return taps
}

function assertSimulated(chip: ChipRow, { ephemeral }: Deps['config']): void {
  if (chip.family === 'halo') {
    throw conflict(
      'A HaLo chip signs its taps with a key that never leaves it, so they cannot be simulated. Tap the chip.',
    )
  }
  if (ephemeral || chip.simulated === 1) return
  throw conflict(
    'This is a physical chip: simulating its taps would use up counters, and its next real taps would count as replayed. Import a chip as simulated, or use a daemon started with --ephemeral.',
  )
}

interface Keys {
  set: KeySet
  fileRead: AesKey
  metaRead: AesKey
}

function keysOf({ keyRing }: Pick<Deps, 'keyRing'>, chip: ChipRow): Keys {
  const set = chip.keySetId === null ? undefined : keyRing.get(chip.keySetId)
  const fileRead = set && keyRing.fileReadKey(set, chip)
  if (!set || !fileRead) {
    throw conflict(
      `The daemon has no file-read key for the chip in the key set ${chip.keySetId}, so it cannot simulate its taps.`,
    )
  }
  return { set, fileRead, metaRead: keyRing.metaReadKey(set, chip) }
}

function tapOf(
  baseUrl: string,
  uid: string,
  { set, fileRead, metaRead }: Keys,
  counter: number,
): SimulatedTap {
  const tap: SdmInput = { uid: uidToBytes(uid), counter, mode: 'aes' }
  const { template } = set
  const d = String(set.id)
  const shown: TapValues = {
    picc: hex(encryptPiccData(metaRead, tap, randomBytes(padding))),
    uid: hex(tap.uid),
    ctr: counter.toString(16).padStart(6, '0'),
    enc: hex(encryptFileData(fileRead, tap, simulatedData(template))),
    mac: '',
  }
  // A simulated chip has no loop in a parameter that other chips of its key set lack.
  const status = slotsOf(template.query).includes('tt') ? closed : ''
  const mac = hex(sunMac(fileRead, tap, macInput(template, d, shown, status)))
  const query = filled(template.query, d, { ...shown, mac }, status)
  const has = (slot: 'picc' | 'keySet'): boolean => slotsOf(template.query).includes(slot)
  return {
    uid,
    url: `${template.head || `${baseUrl}/t`}?${query}`,
    e: has('picc') ? (shown.picc ?? null) : null,
    c: mac,
    d: has('keySet') ? d : null,
    counter,
  }
}

const closed = 'CC'

/** As set-up writes it, and the status of a loop. */
function simulatedData({ tamperByte }: UrlTemplate): Buffer {
  const data = dataFor({ tamperByte })
  if (tamperByte !== undefined) data.write(closed, tamperByte)
  return data
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()
