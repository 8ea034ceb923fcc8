import type { ServerTrouble } from '../../client/errors.ts'

/** With server and reason where the database cannot be used. */
export interface Finding extends Partial<ServerTrouble> {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** null if nothing needs to be done. */
  readonly fix: string | null
}

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, fix: null })
export const warn = (check: string, detail: string, fix: string): Finding => ({
  check,
  status: 'warn',
  detail,
  fix,
})
export const fail = (check: string, detail: string, fix: string, trouble?: ServerTrouble): Finding => ({
  check,
  status: 'fail',
  detail,
  fix,
  ...trouble,
})
