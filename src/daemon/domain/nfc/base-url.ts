import { DomainError } from '../errors.ts'

/** The guarded way to outside. @throws Error with a message that names no secret */
export interface HealthFetch {
  request(request: {
    url: string
    method: string
    headers: Readonly<Record<string, string>>
    timeoutMs?: number
    maxBytes?: number
  }): Promise<{ status: number; body: Buffer }>
}

export interface BaseUrlDeps {
  readonly baseUrl: string
  readonly instance: string
  readonly outbound: HealthFetch
  readonly clock: { monotonic(): number }
}

const goodForMs = 60_000
const timeoutMs = 8_000

/**
 * A base URL is locked into chips for good: whether phones will find this daemon there is asked before. What was
 * found good stays so for a minute, for the next chip of a box.
 */
export class BaseUrlCheck {
  #good: { url: string; at: number } | undefined

  /** @throws DomainError conflict */
  async assertReachable({ baseUrl, instance, outbound, clock }: BaseUrlDeps): Promise<void> {
    const now = clock.monotonic()
    if (this.#good?.url === baseUrl && now - this.#good.at < goodForMs) return
    const problem = literalProblem(baseUrl) ?? (await healthProblem(baseUrl, instance, outbound))
    if (problem !== undefined) throw refused(baseUrl, problem)
    this.#good = { url: baseUrl, at: now }
  }
}

const refused = (baseUrl: string, problem: string): DomainError =>
  new DomainError(
    'conflict',
    `Chips would show ${baseUrl} for good, and it ${problem}. Start the daemon with the address under which phones find it (tapchipd --base-url https://…), or use --accept-url if you know better.`,
  )

function literalProblem(baseUrl: string): string | undefined {
  const { protocol, hostname } = new URL(baseUrl)
  if (/^(localhost|.*\.localhost|127\.[\d.]+|\[::1?\]|0\.0\.0\.0)$/i.test(hostname))
    return 'is on loopback, where no phone comes'
  if (protocol !== 'https:') return 'is not https'
  return undefined
}

async function healthProblem(
  baseUrl: string,
  instance: string,
  outbound: HealthFetch,
): Promise<string | undefined> {
  let answer: { status: number; body: Buffer }
  try {
    const headers = { accept: 'application/json' }
    answer = await outbound.request({
      url: `${baseUrl}/healthz`,
      method: 'GET',
      headers,
      timeoutMs,
      maxBytes: 4096,
    })
  } catch (error) {
    return `could not be asked for /healthz: ${error instanceof Error ? error.message : 'it did not answer'}`
  }
  if (answer.status !== 200) return `answers ${answer.status} to /healthz`
  if (instanceIn(answer.body) !== instance) return 'is not this daemon: its /healthz names another instance'
  return undefined
}

function instanceIn(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && 'instance' in value ? value.instance : undefined
  } catch {
    return undefined
  }
}
