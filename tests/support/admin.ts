import { type Options, openTestApp, type TestApp } from './daemon.ts'

export interface Answered {
  status: number
  // What a test reads of an answer is what it asserts.
  // biome-ignore lint/suspicious/noExplicitAny: the answers of all endpoints
  body: any
  text: string
}

export interface AdminApp extends TestApp {
  /** Calls with the admin token, unless other headers are given. */
  call(endpoint: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** The audit log, newest first. */
  audit(
    query?: string,
  ): Promise<{ action: string; actor: string; target: string; team: string | null; detail: unknown }[]>
}

/** The application with a caller that holds the admin token. `endpoint` is `METHOD /path`. */
export async function openAdminApp(options: Options = {}): Promise<AdminApp> {
  const test = await openTestApp(options)
  const call: AdminApp['call'] = async (endpoint, body, headers = test.admin) => {
    const [method = '', url = ''] = endpoint.split(' ')
    const answer = await test.app.inject({
      method: method as 'GET',
      url,
      headers,
      ...(body === undefined ? {} : { payload: body as object }),
    })
    const isJson = String(answer.headers['content-type']).startsWith('application/json')
    return { status: answer.statusCode, body: isJson ? answer.json() : answer.body, text: answer.body }
  }
  const audit: AdminApp['audit'] = async (query = '') => (await call(`GET /admin/audit?${query}`)).body
  return { ...test, call, audit }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Ten of the same at once: how many answered with which status. */
export async function tenTimes(work: () => Promise<Answered>): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: 10 }, work))
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
