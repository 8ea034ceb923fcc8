import { addressOf } from './client/address.ts'
import type { Config } from './config.ts'
import { DryRunEnded } from './errors.ts'
import type { Io } from './io/io.ts'
import { clean } from './io/text.ts'

interface Sendable {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

const isSendable = (value: unknown): value is Sendable => typeof value === 'object' && value !== null

/** Shows the request that would be sent, its secrets left out, and ends the run. */
export const showRequest = async (io: Io, config: Config, key: string, request: unknown): Promise<never> => {
  const sendable = isSendable(request) ? request : {}
  const { method, path } = addressOf(key, sendable, config.wireBadge)
  const to = path.startsWith('/admin') ? config.adminUrl() : config.url
  // A path in a path has a colon before it, as proxies write it.
  const url = `${to.replace(/\/+$/, '')}${to.startsWith('unix:') ? ':' : ''}${path}`
  const body = sendable.body === undefined ? undefined : withoutSecrets(sendable.body)
  const line = { dryRun: true, method, url, ...(body === undefined ? {} : { body }) }
  await io.line(line, () => clean(`${method} ${url}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`))
  throw new DryRunEnded()
}

const withoutSecrets = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body, (name, value) =>
      /key$|passphrase|token$/i.test(name) && typeof value === 'string' ? '…' : value,
    ),
  )
