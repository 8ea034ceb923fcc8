// Source: NT4H2421Gx s10.2 Table 23 (own commands) and s10.9 (ISO 7816-4).
export const STATUS = {
  done: 0x9100,
  /** Read_Sig's own. Source: NT4H2421Gx s10.10.1 Table 95 */
  noSignature: 0x910b,
  signatureFormat: 0x910c,
  signed: 0x9190,
  unknownCommand: 0x911c,
  integrity: 0x911e,
  noSuchKey: 0x9140,
  length: 0x917e,
  permissionDenied: 0x919d,
  parameter: 0x919e,
  authenticationDelay: 0x91ad,
  authentication: 0x91ae,
  additionalFrame: 0x91af,
  boundary: 0x91be,
  aborted: 0x91ca,
  noSuchFile: 0x91f0,
  isoDone: 0x9000,
  isoLength: 0x6700,
  isoSecurity: 0x6982,
  isoConditions: 0x6985,
  isoNotFound: 0x6a82,
  isoParameters: 0x6a86,
  isoUnknown: 0x6d00,
  isoClass: 0x6e00,
} as const

/** Ends a command with an error status. */
export class Refusal extends Error {
  readonly status: number

  constructor(why: keyof typeof STATUS) {
    super(why)
    this.status = STATUS[why]
  }
}

export function withStatus(status: number, data: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([data, Buffer.of(status >> 8, status & 0xff)])
}
