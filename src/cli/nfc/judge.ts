import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, isUnknownPath } from '../client/errors.ts'
import type { AnswerOf, ElementOf } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { parametersIn } from '../tap-url.ts'
import { bothForms } from '../uid.ts'
import type { ReadChip } from './read-card.ts'

/** The daemon's verdict on a tap. A chip that it does not know has no UID, and `error` says so. */
export type Verdict =
  | AnswerOf<'GET /chips/find'>
  | { readonly uid: null; readonly isValidTap: false; readonly error: string }

/**
 * Sends the tap to the daemon, which uses it up; as one of set-up if the token may set chips up. @throws ApiError, DaemonUnreachable
 */
export const judge = async (ctx: CliContext, { url }: ReadChip): Promise<Verdict> => {
  // All parameters are passed on: their names depend on the key set.
  const query = Object.fromEntries(parametersIn(url ?? ''))
  try {
    return (await judgeAtTable(ctx, query)) ?? (await ctx.call('GET /chips/find', { query }))
  } catch (error) {
    if (!(error instanceof ApiError && error.statusCode === 404 && error.code === 'not_found')) throw error
    return { uid: null, isValidTap: false, error: unknown }
  }
}

/** @returns undefined if the token may not set chips up, or the daemon is of an earlier version */
const judgeAtTable = async (ctx: CliContext, parameters: Record<string, string>) => {
  if (!ctx.config().adminToken()) return undefined
  try {
    return await ctx.call('POST /admin/taps/verify', { body: { parameters } })
  } catch (error) {
    if (error instanceof ApiError && ([401, 403].includes(error.statusCode) || isUnknownPath(error)))
      return undefined
    throw error
  }
}

const unknown =
  'The daemon knows no such chip: it is not registered here, or its key set is not. ' +
  'Set it up: tapchip nfc provision. If it is already set up: tapchip chips import'

/** The daemon records refused taps shortly after it has answered. */
const writtenAfterMs = 250

const reasons: Readonly<Record<ElementOf<'GET /admin/taps'>['outcome'], string | undefined>> = {
  valid: undefined,
  replayed:
    'its counter is not above the last one that the daemon has seen. Tap again; if that does not help, the chip was ' +
    'set up again elsewhere, or its taps were simulated',
  'caught-up':
    'the daemon was restored from a backup, so this first tap only brings its counter up to date. Tap again',
  'wrong-mac':
    'it is not signed with the keys that the daemon has for this chip. It may be set up under another key set',
  disabled: 'the chip is disabled. Enable it: tapchip chips enable',
  'unknown-chip': undefined,
  'unknown-key-set': undefined,
}

/** The daemon tells the reason only to those who may read its records. */
export const describeVerdict = async (ctx: CliContext, verdict: Verdict): Promise<string> => {
  if (verdict.uid === null) return `Not valid. ${verdict.error}`
  if (verdict.isValidTap)
    return `Valid: the chip is genuine, and this tap is new. It is used up now.${await sealOf(ctx, verdict.uid)}`
  const reason = await reasonOf(ctx, verdict.uid)
  return `Not valid: ${reason ?? `a wrong key, an old tap, or a disabled chip: tapchip taps list --uid ${verdict.uid}`}.`
}

/** The proven state of the seal, since anyone can write one into a URL. Told to those who may read the daemon's records. */
const sealOf = async (ctx: CliContext, uid: string): Promise<string> => {
  if (!ctx.config().adminToken()) return ''
  const chip = await ctx.call('GET /admin/chips/:uid', { params: { uid } }).catch(() => undefined)
  return chip?.tamper == null ? '' : ` Its seal is ${chip.tamper}.`
}

const reasonOf = async (ctx: CliContext, uid: string): Promise<string | undefined> => {
  if (!ctx.config().adminToken()) return undefined
  await delay(writtenAfterMs)
  const taps = await ctx.call('GET /admin/taps', { query: { uid, limit: 1 } }).catch(() => [])
  return taps[0] && reasons[taps[0].outcome]
}

export const describeUid = ({ uid }: Verdict): string => (uid === null ? '-' : bothForms(uid))
