import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const version = 1
const nonceLength = 12
const tagLength = 16

/** AES-256-GCM. The context binds a value to its row. Layout: version(1) ‖ nonce(12) ‖ ciphertext ‖ tag(16). */
export class SecretBox {
  readonly #key: Uint8Array
  constructor(dataKey: Uint8Array) {
    if (dataKey.length !== 32) throw new Error('The data key must have 32 bytes')
    this.#key = dataKey
  }

  withKey<T>(use: (key: Uint8Array) => T): T {
    return use(this.#key)
  }

  seal(secret: Uint8Array, context: string): Buffer {
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(context))
    const body = Buffer.concat([cipher.update(secret), cipher.final()])
    return Buffer.concat([Buffer.of(version), nonce, body, cipher.getAuthTag()])
  }

  /** For recognizing a value that must not be stored and could be guessed from a plain hash. */
  keyedHash(value: string, context: string): string {
    const key = createHmac('sha256', this.#key).update(`hash:${context}`).digest()
    return createHmac('sha256', key).update(value).digest('base64url')
  }

  /** @throws Error if the value is damaged, has another context, or uses another data key */
  open(sealed: Uint8Array, context: string): Buffer {
    if (sealed[0] !== version || sealed.length < 1 + nonceLength + tagLength)
      throw new Error(`Not a sealed secret: ${context}`)
    const body = sealed.subarray(1 + nonceLength, sealed.length - tagLength)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(1, 1 + nonceLength), {
      authTagLength: tagLength,
    })
      .setAAD(Buffer.from(context))
      .setAuthTag(sealed.subarray(sealed.length - tagLength))
    return Buffer.concat([decipher.update(body), decipher.final()])
  }
}
