import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Channel, FULL, MAC, PLAIN } from '../../../src/nfc/emulator/secure-channel.ts'
import { Refusal } from '../../../src/nfc/emulator/status.ts'
import { AesSuite } from '../../../src/nfc/emulator/suites.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { type CommMode, SecureSession } from '../../../src/nfc/ntag424/secure-session.ts'

const block = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes))
const ti = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => Buffer.from(bytes))
const exchange = fc.record({
  mode: fc.constantFrom<CommMode>('plain', 'mac', 'full'),
  header: fc.uint8Array({ maxLength: 7 }),
  data: fc.uint8Array({ maxLength: 200 }),
  answer: fc.uint8Array({ maxLength: 200 }),
})
const MODES = { plain: PLAIN, mac: MAC, full: FULL }

const pair = fc.record({ enc: block, mac: block, ti }).map((keys) => ({
  session: new SecureSession({
    ti: keys.ti,
    enc: new AesKey(keys.enc),
    mac: new AesKey(keys.mac),
    counter: 0,
  }),
  channel: new Channel(0, keys.ti, 0, new AesSuite(keys)),
}))
const body = (apdu: Buffer): Buffer => (apdu.length > 5 ? apdu.subarray(5, -1) : Buffer.alloc(0))

test('reader and virtual chip, written apart, understand each other in every mode', () => {
  fc.assert(
    fc.property(pair, fc.array(exchange, { maxLength: 8 }), ({ session, channel }, exchanges) => {
      for (const { mode, header, data, answer } of exchanges) {
        const apdu = session.wrap({ ins: 0x8d, header, data }, mode)
        const opened = channel.open(0x8d, body(apdu), header.length, MODES[mode])
        expect(opened.header).toEqual(Buffer.from(header))
        expect(opened.data).toEqual(Buffer.from(data))
        const closed = channel.close(Buffer.from(answer), MODES[mode])
        expect(session.unwrap(Buffer.concat([closed, Buffer.of(0x91, 0x00)]), mode)).toEqual(
          Buffer.from(answer),
        )
      }
    }),
  )
})

test('a command that was changed on its way is refused, at every bit', () => {
  fc.assert(
    fc.property(pair, exchange, fc.nat(), ({ session, channel }, { header, data }, bit) => {
      const apdu = Buffer.from(body(session.wrap({ ins: 0x8d, header, data }, 'full')))
      const at = Math.floor(bit / 8) % apdu.length
      apdu.writeUInt8(apdu.readUInt8(at) ^ (1 << (bit % 8)), at)
      expect(() => channel.open(0x8d, apdu, header.length, FULL)).toThrow(Refusal)
    }),
  )
})
