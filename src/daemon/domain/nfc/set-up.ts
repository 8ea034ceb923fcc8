import { randomBytes } from 'node:crypto'
import { apply, recover } from '../../../nfc/provision/apply.ts'
import {
  AuthenticationDelayed,
  ChipLocked,
  ForeignKeys,
  OtherTemplate,
  TornChip,
  WrongChip,
} from '../../../nfc/provision/errors.ts'
import type { Inspection } from '../../../nfc/provision/inspect.ts'
import type { LiveTap } from '../../../nfc/provision/live-tap.ts'
import type { KeysOf, Plan } from '../../../nfc/provision/plan.ts'
import { readBack } from '../../../nfc/provision/read-back.ts'
import type { Actor } from '../../store/audit.ts'
import { type Reply, relay, type Step } from './conversation.ts'
import { close, type JournalEntry } from './journal.ts'
import type { RegistrationDeps } from './registration.ts'

export interface SetUpDeps extends RegistrationDeps {
  readonly baseUrl: string
}

type Part<R> = AsyncGenerator<Step, R, Reply>

export const chipDeps = (keysOf: KeysOf) => ({ keysOf, random: randomBytes })

/** Nothing was written to the chip when one of these was thrown: it has the keys that it had. */
const isUntouched = (error: unknown): boolean =>
  [WrongChip, ForeignKeys, TornChip, OtherTemplate, ChipLocked, AuthenticationDelayed].some(
    (kind) => error instanceof kind,
  )

export interface Written {
  readonly entry: Pick<JournalEntry, 'id' | 'plan' | 'place'>
  /** The chip may have been begun on: its plan, or one that this one replaces, was open. */
  readonly isBegun: boolean
}

/** Brings a chip to the state of a plan that is written down, and reads it back. null: it is the factory's. */
export async function* carryOut(
  deps: SetUpDeps,
  actor: Actor,
  { entry, isBegun }: Written,
  inspection: Inspection,
  keysOf: KeysOf,
): Part<LiveTap | null> {
  const run = isBegun ? recover : apply
  try {
    yield* relay(run(entry.plan, inspection, chipDeps(keysOf)), 'set-up')
  } catch (error) {
    if (!isBegun && isUntouched(error)) await close(deps, actor, entry, 'untouched')
    throw error
  }
  return yield* proven(entry.plan, keysOf)
}

export const proven = (plan: Plan, keysOf: KeysOf): Part<LiveTap | null> =>
  relay(readBack(plan, chipDeps(keysOf)), 'read-back')

/** Holds a chip against a plan that cannot write. @returns false where it shows another URL than planned */
export async function* holdAgainst(plan: Plan, inspection: Inspection, keysOf: KeysOf): Part<boolean> {
  try {
    yield* relay(apply(plan, inspection, chipDeps(keysOf)), 'inspect')
    return true
  } catch (error) {
    // Only thrown once the tap has proven the keys.
    if (error instanceof OtherTemplate) return false
    throw error
  }
}
