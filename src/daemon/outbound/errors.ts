/** A call that must not be made, whatever the other side would answer: trying again does not help. */
export class OutboundRefused extends Error {
  override readonly name = 'OutboundRefused'
  constructor(
    readonly reason: 'url' | 'private_address',
    message: string,
    /** What the name resolved to. Not in the message, which may reach whoever chose the name. */
    readonly address?: string,
  ) {
    super(message)
  }
}

/** A call that was tried and brought no whole answer. */
export class OutboundFailed extends Error {
  override readonly name = 'OutboundFailed'
  constructor(
    readonly kind: 'timeout' | 'too_large' | 'connection',
    message: string,
    /** Whether anything of the request may have arrived. False: there was no connection yet. */
    readonly sent: boolean,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

/** How far a call has come, for those who have to say so when it fails. */
export interface Progress {
  /** There is a connection, so something may have been sent. */
  sent: boolean
}
