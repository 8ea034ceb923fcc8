/** A call that is not allowed; retrying does not help. */
export class OutboundRefused extends Error {
  override readonly name = 'OutboundRefused'
  constructor(
    readonly reason: 'url' | 'private_address',
    message: string,
    /** The resolved address. It is not in the message, because the message may reach whoever chose the name. */
    readonly address?: string,
  ) {
    super(message)
  }
}

/** A call that got no complete answer. */
export class OutboundFailed extends Error {
  override readonly name = 'OutboundFailed'
  constructor(
    readonly kind: 'timeout' | 'too_large' | 'connection',
    message: string,
    /** False if there was no connection yet, so nothing was sent. */
    readonly sent: boolean,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

export interface Progress {
  /** There was a connection, so part of the request may have been sent. */
  sent: boolean
}
