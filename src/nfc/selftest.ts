import { randomBytes } from 'node:crypto'
import { EmulatedCard } from './emulator/card.ts'
import { factoryMemory } from './emulator/memory.ts'
import { VirtualNtag424 } from './emulator/ntag424.ts'
import { newUid } from './emulator/readers.ts'
import { AesKey } from './ntag424/cmac.ts'
import {
  authenticate,
  changeFileSettings,
  fileRange,
  getCardUid,
  getFileCounters,
  getFileSettings,
  getKeyVersion,
  readData,
  writeData,
} from './ntag424/commands.ts'
import type { PlannedKey } from './ntag424/diversify.ts'
import { ChipError } from './ntag424/errors.ts'
import { CC_FILE, FILE_SIZES, KEY_NUMBERS, NDEF_FILE, PROPRIETARY_FILE } from './ntag424/layout.ts'
import { apply, recover } from './provision/apply.ts'
import { ProvisionError } from './provision/errors.ts'
import { type Inspection, inspect } from './provision/inspect.ts'
import {
  type KeySource,
  type KeysOf,
  keyFrom,
  ofKeySets,
  plan,
  planReset,
  versionIn,
} from './provision/plan.ts'
import { readBack } from './provision/read-back.ts'
import { readTap } from './read-tap.ts'
import { runScript, type Script, send } from './script.ts'
import { Redactor, type TranscriptLine, transcribed, transcriptDifferences } from './transcript.ts'
import { CC_FILE_ID, NDEF_FILE_ID, readBinary, selectApplication, selectFile, updateBinary } from './type4.ts'
import { uidToBytes } from './uid.ts'

// Runs every command that Tapchip uses on a blank chip, and leaves it blank. The keys it writes in between are public,
// so that the next run can free a chip that was lifted during the test.

const SOURCE = { keySet: 0, generation: 253 } as const
const FACTORY_KEY = new AesKey(Buffer.alloc(16))

const selftestKeys = ofKeySets(({ generation }) =>
  KEY_NUMBERS.map(
    (keyNo): PlannedKey => ({ keyNo, key: Buffer.alloc(16, 0xa0 + keyNo), version: generation + 1 }),
  ),
)

export class NotBlank extends ProvisionError {
  constructor() {
    super('The chip is not blank', 'Use a chip from the factory, or reset this one with tapchip nfc reset')
  }
}

interface SelftestOptions {
  readonly random: (length: number) => Uint8Array
  /** Called for each line at once, so that a chip that is lifted leaves a transcript too. */
  readonly note: (line: TranscriptLine) => void
  readonly atr?: Uint8Array
}

/**
 * @returns true if every required step passed; the transcript shows which did not
 * @throws NotBlank, NotNtag424, RandomIdChip before anything is written; ChipError when the chip could not be freed
 */
export function* selftest({ random, note, atr }: SelftestOptions): Script<boolean> {
  const redactor = new Redactor()
  const run = <Result>(step: string, script: Script<Result>): Script<Result> =>
    transcribed(script, step, redactor, note)
  const deps = { keysOf: selftestKeys, random }

  let seen = yield* run('inspect', inspect(atr))
  const resetPlan = planReset({ uid: seen.uid, from: [SOURCE] })
  if (!seen.versions.every((version) => version === 0 || version === versionIn(SOURCE, 0)))
    throw new NotBlank()
  if (seen.versions.some((version) => version !== 0)) {
    yield* run('free', recover(resetPlan, seen, deps))
    seen = yield* run('inspect', inspect(atr))
  }

  let good = true
  const steps = stepsFor(seen, deps)
  for (const [step, script] of Object.entries(steps)) {
    try {
      const value = yield* run(step, script())
      if (value !== undefined) note({ step, value })
    } catch (error) {
      if (!(error instanceof ChipError || error instanceof ProvisionError)) throw error
      // The status of an expected refusal is already in the transcript.
      const expected = step.startsWith('refused: ')
      good = good && expected
      if (!expected) note({ step, error: error.message })
    }
  }
  const after = yield* run('inspect', inspect(atr))
  yield* run('reset', recover(resetPlan, after, deps))
  yield* run('read back', readBack(resetPlan, deps))
  return good
}

type Step = () => Script<string | undefined>

function stepsFor(
  seen: Inspection,
  deps: { keysOf: KeysOf; random: SelftestOptions['random'] },
): Record<string, Step> {
  const { uid } = seen
  const setUp = plan({
    uid,
    from: ['factory'],
    target: SOURCE,
    template: { baseUrl: 'https://selftest.example', text: '?^d={keySet}&e={picc}&c={mac}' },
  })
  const open = (keyNo: number, source: KeySource = 'factory') => {
    const key =
      source === 'factory' ? FACTORY_KEY : new AesKey(keyFrom(source, keyNo, uidToBytes(uid), deps.keysOf))
    return authenticate(keyNo, key, deps.random(16))
  }
  const steps: Record<string, Step> = {
    *'read the capability file'() {
      yield* selectFile(CC_FILE_ID)
      return (yield* readBinary(0, 23)).toString('hex').toUpperCase()
    },
    *'UPDATE BINARY of the NDEF file'() {
      yield* selectFile(NDEF_FILE_ID)
      yield* updateBinary(0, Buffer.alloc(2))
      return (yield* readBinary(0, 48)).every((byte) => byte === 0) ? 'empty' : 'not empty'
    },
    *'WriteData and ReadData in plain'() {
      yield* writeData(NDEF_FILE, Buffer.from('selftest'), { offset: 64 })
      const read = yield* readData(NDEF_FILE, 8, { offset: 64 })
      yield* writeData(NDEF_FILE, Buffer.alloc(8), { offset: 64 })
      return read.toString('latin1')
    },
    *'a session with key 0'() {
      const session = yield* open(0)
      const isSameUid = (yield* getCardUid(session)).equals(uidToBytes(uid))
      const versions: number[] = []
      for (const keyNo of KEY_NUMBERS) versions.push(yield* getKeyVersion(keyNo, session))
      const settings = []
      for (const file of [CC_FILE, NDEF_FILE, PROPRIETARY_FILE])
        settings.push(yield* getFileSettings(file, session))
      yield* writeData(NDEF_FILE, Buffer.alloc(8), { session })
      return JSON.stringify({ own: isSameUid, versions, settings })
    },
    *'file 3 in CommMode.FULL'() {
      const writing = yield* open(3)
      yield* writeData(PROPRIETARY_FILE, Buffer.from('selftest'), { mode: 'full', session: writing })
      const reading = yield* open(2)
      const read = yield* readData(PROPRIETARY_FILE, 8, { mode: 'full', session: reading })
      const clearing = yield* open(3)
      yield* writeData(PROPRIETARY_FILE, Buffer.alloc(8), { mode: 'full', session: clearing })
      return read.toString('latin1')
    },
    *'set up'() {
      return yield* apply(setUp, seen, deps)
    },
    *'read back what was set up'() {
      return String((yield* readBack(setUp, deps))?.counter)
    },
    *'counts that a tap takes'() {
      const session = yield* open(1, SOURCE)
      const before = yield* getFileCounters(NDEF_FILE, session)
      yield* readTap()
      const again = yield* open(1, SOURCE)
      return String((yield* getFileCounters(NDEF_FILE, again)) - before)
    },
    *'counter after new settings'() {
      const session = yield* open(0, SOURCE)
      yield* changeFileSettings(session, NDEF_FILE, yield* getFileSettings(NDEF_FILE, session))
      return String(yield* getFileCounters(NDEF_FILE, yield* open(1, SOURCE)))
    },
  }
  return { ...steps, ...refusals(uid) }
}

/** Cases that the data sheet leaves open, or that the virtual chip may have wrong. */
function refusals(uid: string): Record<string, Step> {
  const raw = (hex: string): Step =>
    function* () {
      yield* selectApplication()
      yield* selectFile(NDEF_FILE_ID)
      yield* send(Buffer.from(hex, 'hex'))
      return undefined
    }
  return {
    'refused: an unknown file': raw('00A4000C02E1AA'),
    'refused: READ BINARY beyond the end': raw('00B0010010'),
    'refused: READ BINARY across the end': raw('00B000F820'),
    'refused: UPDATE BINARY of a locked file': raw('00D60000020000'),
    'refused: ReadData beyond the end': raw(`90AD000007${ndefRange(FILE_SIZES[NDEF_FILE], 8)}00`),
    'refused: WriteData without a key': raw(`908D000009${ndefRange(0, 2)}000000`),
    'refused: GetKeyVersion of no key': raw('90640000010500'),
    'refused: GetFileSettings of no file': raw('90F50000010900'),
    'refused: GetFileCounters without a key': raw('90F60000010200'),
    'refused: ReadData of a file under a key': raw(
      `90AD000007${fileRange(PROPRIETARY_FILE, 0, 8).toString('hex')}00`,
    ),
    'refused: half an authentication': raw(`90AF000020${'00'.repeat(32)}00`),
    *'refused: READ BINARY in a session'() {
      yield* authenticate(0, selftestKey0(uid), Buffer.alloc(16, 0x5a))
      yield* send(Buffer.from('00B0000010', 'hex'))
      return undefined
    },
    'refused: GetCardUID without a session': raw('9051000000'),
    'refused: an unknown command': raw('90EE000000'),
    'refused: an unknown class': raw('80CA000000'),
    *'refused: a session after an error'() {
      // The second answer shows if an error ends the session.
      yield* selectApplication()
      const session = yield* authenticate(0, selftestKey0(uid), Buffer.alloc(16, 0x5a))
      yield* send(Buffer.from('90640000010500', 'hex'))
      yield* getKeyVersion(0, session)
      return undefined
    },
  }
}

function selftestKey0(uid: string): AesKey {
  return new AesKey(keyFrom(SOURCE, 0, uidToBytes(uid), selftestKeys))
}

function ndefRange(offset: number, length: number): string {
  return fileRange(NDEF_FILE, offset, length).toString('hex')
}

/** Repeats the self-test on the virtual chip, and returns the differences from a real chip's transcript. */
export async function replaySelftest(recorded: readonly TranscriptLine[]): Promise<string[]> {
  const replayed: TranscriptLine[] = []
  // The recorded chip may be a TagTamper, which says so in its version.
  const tamper = recorded.some((line) => 'answer' in line && line.answer.startsWith('040408'))
  const chip = new VirtualNtag424(factoryMemory(newUid(), { tamper }))
  const note = (line: TranscriptLine) => replayed.push(line)
  await runScript(new EmulatedCard('replay', chip), selftest({ random: randomBytes, note }))
  return transcriptDifferences(recorded, replayed)
}
