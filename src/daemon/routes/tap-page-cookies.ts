import type { FastifyRequest } from 'fastify'
import { pathOf } from '../pages/tap/settings.ts'
import type { Context } from '../process/context.ts'

/** Browsers keep few cookies per address, and send all of them with each request. */
const maxCookies = 16
const maxCookiesRead = 50

const form = /^(tapchip_tap(?:_[A-Za-z0-9_-]{8})?)=([A-Za-z0-9_-]{21})$/

interface TapCookies {
  /** Oldest first, as browsers send them. */
  names: string[]
  values: string[]
}

/** The cookies of a browser's taps. */
export function cookiesOf({ headers }: FastifyRequest): TapCookies {
  if (headers.cookie === undefined) return { names: [], values: [] }
  const found = headers.cookie
    .split(';', 4 * maxCookiesRead)
    .flatMap((one) => {
      const [, name, value] = form.exec(one.trim()) ?? []
      return name === undefined || value === undefined ? [] : [{ name, value }]
    })
    .slice(-maxCookiesRead)
  return { names: found.map(({ name }) => name), values: found.map(({ value }) => value) }
}

/**
 * One cookie per tap, so that a second tap leaves the first page working; the oldest are removed.
 * @returns values of Set-Cookie
 */
export function cookieLines(
  ctx: Context,
  request: FastifyRequest,
  { name, value, maxAgeSeconds }: { name: string; value: string; maxAgeSeconds: number },
): string[] {
  const secure = ctx.baseUrl.startsWith('https:') ? '; Secure' : ''
  const line = (of: string, content: string, age: number) =>
    `${of}=${content}; Max-Age=${age}; Path=${pathOf({ home: ctx.baseUrl }, '/t')}; HttpOnly; SameSite=Lax${secure}`
  const others = cookiesOf(request).names.filter((other) => other !== name)
  const old = others.slice(0, Math.max(0, others.length - maxCookies + 1))
  return [...old.map((of) => line(of, '', 0)), line(name, value, maxAgeSeconds)]
}
