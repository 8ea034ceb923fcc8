import { createHmac } from 'node:crypto'

export interface Message {
  /** The same at each try, so that the receiver recognizes a repetition. */
  id: string
  body: string
}

/**
 * Headers of the Standard Webhooks convention.
 * @param secrets as bytes; several while one is rolled @param seconds since the epoch, of this try
 */
export function signedHeaders(
  { id, body }: Message,
  secrets: readonly Uint8Array[],
  seconds: number,
): Record<string, string> {
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(sign).join(' '),
  }
}
