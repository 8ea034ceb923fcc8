import { parametersIn, whyNoTap } from '../../nfc/tap-url.ts'
import { ApiError, isUnknownPath } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { bothForms } from '../uid.ts'
import type { ReadChip } from './read-card.ts'

/** The daemon's verdict on a tap. A chip that it does not know has no UID, and `error` says so. */
export type Verdict =
  | AnswerOf<'GET /chips/find'>
  | { readonly uid: null; readonly isValidTap: false; readonly error: string }

// All parameters are passed on: their names depend on the key set.
const queryOf = (url: string): Record<string, string> => Object.fromEntries(parametersIn(url))

/**
 * Sends the tap to the daemon, which uses it up; as one of set-up if the token may set chips up. @throws ApiError, DaemonUnreachable
 */
export const judge = async (ctx: CliContext, { url }: ReadChip): Promise<Verdict> => {
  const query = queryOf(url ?? '')
  try {
    return (await judgeAtTable(ctx, query)) ?? (await ctx.call('GET /chips/find', { query }))
  } catch (error) {
    if (!(isUnknownChip(error) || (error instanceof ApiError && error.code === 'tap_malformed'))) throw error
    return { uid: null, isValidTap: false, error: (await explainTap(ctx, query)) ?? error.message }
  }
}

export const isUnknownChip = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.statusCode === 404 && error.code === 'not_found'

/** @returns undefined if the token may not set chips up, or the daemon is of an earlier version */
const judgeAtTable = (ctx: CliContext, parameters: Record<string, string>) =>
  ifAllowed(ctx, () => ctx.call('POST /admin/taps/verify', { body: { parameters } }))

/**
 * Why a tap was refused, in sentences. The daemon tells it only to those who may read its records.
 * @returns undefined without such a token, or if the daemon is of an earlier version
 */
export const explainTap = async (
  ctx: CliContext,
  query: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> =>
  (await ifAllowed(ctx, () => ctx.call('GET /admin/taps/explain', { query })))?.reason ?? undefined

const ifAllowed = async <T>(ctx: CliContext, call: () => Promise<T>): Promise<T | undefined> => {
  if (!ctx.config().hasCredential()) return undefined
  try {
    return await call()
  } catch (error) {
    if (error instanceof ApiError && ([401, 403].includes(error.statusCode) || isUnknownPath(error)))
      return undefined
    throw error
  }
}

export const describeVerdict = async (ctx: CliContext, verdict: Verdict, url: string): Promise<string> => {
  if (verdict.uid === null) return `Not valid. ${verdict.error}`
  if (verdict.isValidTap)
    return `Valid: the chip is genuine, and this tap is new. It is used up now.${await sealOf(ctx, verdict.uid)}`
  const reason = (await explainTap(ctx, queryOf(url))) ?? whyNoTap(url, false)
  return `Not valid. ${reason ?? `It has a wrong key, or is an old tap or of a disabled chip: tapchip taps list --uid ${verdict.uid}`}`
}

/** The proven state of the seal, since anyone can write one into a URL. Told to those who may read the daemon's records. */
const sealOf = async (ctx: CliContext, uid: string): Promise<string> => {
  if (!ctx.config().hasCredential()) return ''
  const chip = await ctx.call('GET /admin/chips/:uid', { params: { uid } }).catch(() => undefined)
  return chip?.tamper == null ? '' : ` Its seal is ${chip.tamper}.`
}

export const describeUid = ({ uid }: Verdict): string => (uid === null ? '-' : bothForms(uid))
