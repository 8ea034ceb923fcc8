import { AesKey, oddBytes } from '../ntag424/cmac.ts'
import { LrpKey } from '../ntag424/lrp.ts'

// The two kinds of secure messaging, from NT4H2421Gx s9.1 and s9.2.

/** The progress of a session. */
export interface Position {
  /** 4 bytes. */
  readonly ti: Buffer
  /** CmdCtr. */
  readonly counter: number
}

export type Direction = 'command' | 'response'

/** The keys of a session. */
export interface Suite {
  /** @returns 8 bytes */
  tag(message: Buffer): Buffer
  /** @param data whole blocks of 16 bytes */
  encrypt(direction: Direction, position: Position, data: Buffer): Buffer
  decrypt(direction: Direction, position: Position, data: Buffer): Buffer
}

/** Source: NT4H2421Gx s9.1.3, s9.1.4 */
export class AesSuite implements Suite {
  readonly #enc: AesKey
  readonly #mac: AesKey

  constructor(keys: { readonly enc: Uint8Array; readonly mac: Uint8Array }) {
    this.#enc = new AesKey(keys.enc)
    this.#mac = new AesKey(keys.mac)
  }

  tag(message: Buffer): Buffer {
    return oddBytes(this.#mac.cmac(message))
  }

  encrypt(direction: Direction, position: Position, data: Buffer): Buffer {
    return this.#enc.encryptCbc(this.#iv(direction, position), data)
  }

  decrypt(direction: Direction, position: Position, data: Buffer): Buffer {
    return this.#enc.decryptCbc(this.#iv(direction, position), data)
  }

  #iv(direction: Direction, { ti, counter }: Position): Buffer {
    const label = Buffer.from(direction === 'command' ? 'A55A' : '5AA5', 'hex')
    return this.#enc.encryptBlock(Buffer.concat([label, ti, counterBytes(counter), Buffer.alloc(8)]))
  }
}

/** Source: NT4H2421Gx s9.2.3, s9.2.4 */
export class LrpSuite implements Suite {
  readonly #key: LrpKey
  /** EncCtr counts encrypted blocks of both directions. */
  #blocks = 0

  /** @param master SesAuthMasterKey, 16 bytes */
  constructor(master: Uint8Array) {
    this.#key = new LrpKey(new AesKey(master))
  }

  /** Untruncated, as the authentication uses it. @returns 16 bytes */
  mac(message: Buffer): Buffer {
    return this.#key.cmac(message)
  }

  tag(message: Buffer): Buffer {
    return oddBytes(this.#key.cmac(message))
  }

  encrypt(_: Direction, __: Position | undefined, data: Buffer): Buffer {
    return this.#key.encrypt(1, this.#next(data), data)
  }

  decrypt(_: Direction, __: Position | undefined, data: Buffer): Buffer {
    return this.#key.decrypt(1, this.#next(data), data)
  }

  #next(data: Buffer): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.#blocks)
    this.#blocks += data.length / 16
    return counter
  }
}

/** CmdCtr as it enters MACs and IVs. */
export function counterBytes(counter: number): Buffer {
  return Buffer.of(counter & 0xff, counter >> 8)
}
