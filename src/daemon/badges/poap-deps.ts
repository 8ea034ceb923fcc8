import { OutboundFailed, OutboundRefused, type SendRequest } from '../outbound/outbound.ts'

export type { SendRequest }

export interface PoapDeps {
  send: SendRequest
  clock: { now(): number; monotonic(): number }
  sleep(ms: number): Promise<unknown>
  /** From 0 up to 1. */
  random(): number
}

export function failureOf(error: unknown): { sent: boolean; reason: string } | undefined {
  if (error instanceof OutboundRefused) return { sent: false, reason: error.message }
  return error instanceof OutboundFailed ? { sent: error.sent, reason: error.message } : undefined
}

export interface PoapConfig {
  /** The API, such as `https://api.poap.tech`, without a trailing slash. */
  url: string
  authUrl: string
  apiKey: string
  clientId: string
  clientSecret: string
  audience: string
  /** POAP sends messages about an event to this address, including the claim links. */
  email: string
  /** For a call with all its retries. */
  timeoutMs: number
  /** The interval for checking on events and claims. */
  pollSeconds: number
}
