import type { FastifyInstance } from 'fastify'
import { buildPage } from '../../src/daemon/domain/tap-page/build.ts'
import { findVisit } from '../../src/daemon/domain/tap-page/visit.ts'
import type { Context } from '../../src/daemon/process/context.ts'
import { pageDeps } from '../../src/daemon/routes/tap-page.ts'
import { derived } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

interface Fields {
  kind: string
  id?: number
  recipient: string
  deviceId?: string
}

/** A browser's hands on tap pages: it keeps cookies, as one with nothing but forms would. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #app: FastifyInstance
  readonly #ctx: Context

  constructor(t: { app: FastifyInstance; ctx: Context }) {
    this.#app = t.app
    this.#ctx = t.ctx
  }

  /** Opens what a chip shows at its tap number `counter`. */
  tap(uid: string, counter: number) {
    return this.load(tap(derived, { uid }, counter))
  }

  async load(parameters: Record<string, string>) {
    const answer = await this.#app.inject({ url: tapPath(parameters), headers: this.headers })
    this.#keep(answer.headers['set-cookie'])
    const ref = /data-ref="([^"]+)"/.exec(answer.body)?.[1] ?? ''
    return { ref, query: new URLSearchParams(parameters).toString(), parameters, answer }
  }

  /** Presses a button, as the page's script does. */
  async press(page: { ref: string; query: string }, fields: Fields) {
    const answer = await this.submit(page, fields, { accept: 'application/json' })
    const body = answer.json()
    const cards = new Map<string, string>(
      (body.cards ?? []).map(({ key, html }: { key: string; html: string }) => [key, html]),
    )
    const html = cards.get(`${fields.kind}-${fields.id ?? 0}`) ?? ''
    return { status: answer.statusCode, state: /data-state="(\w+)"/.exec(html)?.[1], html, body, answer }
  }

  /** Presses a button, as a browser without scripts does. */
  async submit(
    page: { ref: string; query: string },
    { kind, id = 0, ...rest }: Fields,
    headers: Record<string, string> = {},
  ) {
    const fields = { ref: page.ref, tap: page.query, kind, id: String(id), ...rest }
    const answer = await this.post('/t/act', fields, headers)
    this.#keep(answer.headers['set-cookie'])
    return answer
  }

  post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    return this.#app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...this.headers, ...headers },
      payload: new URLSearchParams(fields).toString(),
    })
  }

  /** What its page would show now, by the key of the card. */
  async states({ ref }: { ref: string }) {
    const cookies = [...this.cookies.values()]
    const visit = await findVisit(this.#ctx, ref)
    const { actions } = await buildPage(pageDeps(this.#ctx), visit, { cookies, query: undefined })
    return Object.fromEntries(actions.map(({ kind, id, state }) => [`${kind}-${id}`, state]))
  }

  /** What it sends with every request. */
  get headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return cookie === '' ? {} : { cookie }
  }

  #keep(lines: string | string[] | number | undefined): void {
    for (const line of [lines ?? []].flat()) {
      const [, name = '', value = '', age = ''] = /^([^=]+)=([^;]*); Max-Age=(\d+)/.exec(String(line)) ?? []
      this.cookies.delete(name)
      if (age !== '0') this.cookies.set(name, value)
    }
  }
}
