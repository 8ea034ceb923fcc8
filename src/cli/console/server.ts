import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  apiPath,
  type ConsoleSession,
  type Diagnosis,
  diagnosisPath,
  type LiveEvent,
  previewPath,
  screenPaths,
  sessionHeader,
} from '../../console/requests.ts'
import type { Client } from '../client/types.ts'
import type { Config } from '../config.ts'
import { CliError, describeError, exitCodes } from '../errors.ts'
import type { Page } from './assets.ts'
import {
  comesFromElsewhere,
  cookieOf,
  isNavigation,
  isPrefetch,
  setSafetyHeaders,
  whyRefused,
} from './guard.ts'
import { LiveFeed } from './live-feed.ts'
import { languageOf, leadOn, noSession } from './notices.ts'
import { Previews } from './previews.ts'
import { answerJson, permitted, proxy, refuse, refuseFailed } from './proxy.ts'
import { Sessions } from './sessions.ts'

const host = '127.0.0.1'
const maxConnections = 200
const maxStreams = 32
/** A browser has six connections to us for all its tabs, and needs some for requests. */
const maxStreamsOfBrowser = 4
/** A page that does not read is cut, and comes back with its cursor. */
const maxBufferedBytes = 1024 * 1024
const keepAliveMs = 15_000
const linkPath = '/open/'

interface Options {
  readonly client: Client
  readonly config: Config
  readonly team: string | undefined
  readonly page: Page
  readonly now: () => Date
  /** Findings of `doctor` that hold nothing up. */
  readonly diagnose: () => Promise<Diagnosis['findings']>
}

/** The console on a loopback port: one page, and what passes its requests on. */
export class ConsoleServer {
  readonly #options: Options
  readonly #server: Server
  readonly #sessions = new Sessions()
  readonly #previews = new Previews()
  readonly #feed: LiveFeed
  /** With the cookie of their browser. */
  readonly #streams = new Map<ServerResponse, string | undefined>()
  /** One at a time, for all pages. */
  #diagnosis: Promise<Diagnosis> | undefined
  #origin = ''

  constructor(options: Options) {
    this.#options = options
    this.#feed = new LiveFeed(options.client, options)
    this.#server = createServer({ requestTimeout: 30_000 }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
    this.#server.maxConnections = maxConnections
  }

  /** @throws CliError if the port is taken */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException) => reject(portError(port, error))
      this.#server.once('error', onError).listen(port, host, () => {
        this.#server.off('error', onError)
        resolve()
      })
    })
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The server has no port.')
    this.#origin = `http://${host}:${address.port}`
  }

  /** A link that opens the console once; earlier ones no longer work. */
  newLink(): string {
    return `${this.#origin}${linkPath}${this.#sessions.newLink()}`
  }

  async close(): Promise<void> {
    for (const stream of this.#streams.keys()) stream.end()
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await Promise.all([closed, this.#feed.close()])
  }

  get #cookieName(): string {
    return `tapchip-console-${new URL(this.#origin).port}`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    setSafetyHeaders(response)
    const refusal = whyRefused(request, this.#origin)
    if (refusal) return refuse(response, refusal.status, refusal.code, refusal.message)
    const url = new URL(request.url ?? '/', this.#origin)
    const asset = this.#options.page.assets.get(url.pathname)
    if (asset) {
      response.setHeader('cache-control', 'private, max-age=31536000, immutable')
      response.setHeader('content-type', asset.type)
      const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding']))
      if (isZipped) response.setHeader('content-encoding', 'gzip')
      return void response.end(isZipped ? asset.gzip : asset.content)
    }
    if (url.pathname.startsWith(`${previewPath}/`))
      return this.#previews.answer(request, response, url.pathname.slice(previewPath.length + 1))
    const cookie = cookieOf(request, this.#cookieName)
    const isRequest =
      ['/session', '/stream', previewPath, diagnosisPath].includes(url.pathname) ||
      url.pathname.startsWith(`${apiPath}/`)
    if (!isRequest) return this.#answerPage(request, response, url, cookie)
    const secret = request.headers[sessionHeader]
    if (!this.#sessions.has(cookie, typeof secret === 'string' ? secret : undefined))
      return refuse(response, 401, 'no_session', 'This page has no session. Open the console by a new link.')
    if (url.pathname === '/session') return answerJson(response, 200, await this.#session())
    if (url.pathname === '/stream')
      return this.#stream(response, cookie, Number(url.searchParams.get('after')))
    if (url.pathname === previewPath)
      return this.#previews.render(this.#options.client, response, url.searchParams)
    if (url.pathname === diagnosisPath) return this.#diagnose(response)
    return proxy(this.#options, request, response, url)
  }

  #answerPage(
    request: IncomingMessage,
    response: ServerResponse,
    { pathname, search }: URL,
    cookie: string | undefined,
  ) {
    if (!isNavigation(request))
      return refuse(response, 405, 'not_allowed', 'Only pages are here, to be opened in a browser.')
    const { page } = this.#options
    const language = languageOf(request.headers['accept-language'])
    const html = (status: number, text: string) => {
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(text)
    }
    const redirect = (location: string) => void response.writeHead(303, { location }).end()
    const hasSession = this.#sessions.hasCookie(cookie)
    if (pathname.startsWith(linkPath)) {
      if (request.method !== 'GET' || isPrefetch(request)) return void response.writeHead(204).end()
      const session = this.#sessions.enter(pathname.slice(linkPath.length))
      if (!session)
        return hasSession ? redirect('/now') : html(410, noSession('used', language, page.stylesheet))
      response.setHeader(
        'set-cookie',
        `${this.#cookieName}=${session.cookie}; HttpOnly; SameSite=Strict; Path=/`,
      )
      // After the #, which no server sees and no log keeps.
      const to = `/now#session=${session.secret}`
      return comesFromElsewhere(request) ? html(200, leadOn(to, language, page.stylesheet)) : redirect(to)
    }
    const isScreen = pathname === '/' || Object.values(screenPaths).some((path) => path.test(pathname))
    // A path can begin with another host: //elsewhere.
    if (!hasSession && isScreen && comesFromElsewhere(request) && /^[\w/.%?&=-]*$/.test(pathname + search))
      return html(200, leadOn((pathname + search).replaceAll('&', '&amp;'), language, page.stylesheet))
    if (!hasSession) return html(401, noSession('none', language, page.stylesheet))
    if (pathname === '/') return redirect('/now')
    return html(isScreen ? 200 : 404, page.index)
  }

  async #session(): Promise<ConsoleSession> {
    const { client, config, team } = this.#options
    const session = {
      daemon: config.url,
      context: config.contextName ?? null,
      isProtected: config.isProtected,
      team: team ?? null,
      version: __TAPCHIP_VERSION__,
    }
    try {
      const who = await client.call('GET /admin/whoami')
      const { name, scopes } = who
      return { ...session, who: { name, team: who.team, scopes }, may: permitted(scopes), problem: null }
    } catch (error) {
      const [message = '', ...advice] = describeError(error).lines
      return { ...session, who: null, may: [], problem: { message, advice: advice.join(' ') || null } }
    }
  }

  async #diagnose(response: ServerResponse): Promise<void> {
    const { diagnose, now } = this.#options
    this.#diagnosis ??= diagnose()
      .then((findings) => ({ at: now().toISOString(), findings }))
      .finally(() => {
        this.#diagnosis = undefined
      })
    try {
      answerJson(response, 200, await this.#diagnosis)
    } catch (error) {
      refuseFailed(response, error)
    }
  }

  #stream(response: ServerResponse, cookie: string | undefined, after: number) {
    const ofBrowser = [...this.#streams.values()].filter((of) => of === cookie)
    if (this.#streams.size >= maxStreams || ofBrowser.length >= maxStreamsOfBrowser)
      return refuse(response, 429, 'too_many', 'Too many pages of this console are open. Close some.')
    response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' })
    const send = (line: string) => {
      if (response.writableLength > maxBufferedBytes) response.destroy()
      else if (!response.destroyed) response.write(line)
    }
    send('\n')
    const unfollow = this.#feed.follow(Number.isSafeInteger(after) ? after : 0, (event: LiveEvent) =>
      send(`${JSON.stringify(event)}\n`),
    )
    const keepAlive = setInterval(() => send('\n'), keepAliveMs)
    this.#streams.set(response, cookie)
    response.once('close', () => {
      clearInterval(keepAlive)
      unfollow()
      this.#streams.delete(response)
    })
  }
}

const portError = (port: number, error: NodeJS.ErrnoException): Error =>
  error.code === 'EADDRINUSE'
    ? new CliError(`Port ${port} is in use.`, {
        advice: 'Choose another one: --port 0 takes a free one',
        cause: error,
      })
    : error.code === 'EACCES'
      ? new CliError(`Port ${port} may not be used.`, {
          advice: 'Choose one from 1024 on: --port 8488',
          exitCode: exitCodes.usage,
          cause: error,
        })
      : error
