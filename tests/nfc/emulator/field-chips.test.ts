import { expect, test } from 'vitest'
import fieldChips from '../../../fixtures/vectors/field-chips.json' with { type: 'json' }
import { parseSettings } from '../../../src/nfc/emulator/file-rules.ts'
import { mirrored } from '../../../src/nfc/emulator/files.ts'
import { AesKey } from '../../../src/nfc/ntag424/cmac.ts'
import { encodeFileSettings } from '../../../src/nfc/ntag424/file-settings.ts'
import { templateFile } from '../../../src/nfc/ntag424/template/file.ts'
import { parseTemplate } from '../../../src/nfc/ntag424/template/parse.ts'

// Set-up by the template of a chip in the field, with its UID, counter and padding, gives its tap to the byte.

const zero = '0'.repeat(32)

test.each(fieldChips.cases.flatMap(({ taps, ...chip }) => taps.map((tap) => ({ ...chip, tap }))))(
  'the virtual chip shows the tap of: $name, counter $tap.counter',
  ({ keySet, uid, tap }) => {
    const { metaReadKey = zero, fileReadKey = zero, template, tamper }: Record<string, string> = keySet
    const { query, counter, fileData }: { query: string; counter: number; fileData?: string } = tap
    // This chip's own parameter is none of its template's.
    const parsed = parseTemplate(template?.replace('ks={keySet}', 'd=jacket') ?? '', tamper)
    const { ndef, settings } = templateFile({
      template: parsed,
      baseUrl: 'https://n.example',
      keySet: 7,
      tamper: tamper !== undefined,
      fileData,
    })
    const { sdm } = parseSettings(encodeFileSettings(settings), 2, 256, { hasLoop: true })
    if (!sdm) throw new Error('no SDM')
    const [metaRead, fileRead] = [metaReadKey, fileReadKey].map((key) => Buffer.from(key, 'hex'))
    const none = { key: Buffer.alloc(16) }
    const picc = new RegExp(`${sdm.piccOffset === undefined ? 'never' : '=([0-9A-F]{32})'}`).exec(query)?.[1]
    const plain = metaRead && picc && new AesKey(metaRead).decryptBlock(Buffer.from(picc, 'hex'))
    const shown = mirrored({
      sdm,
      file: ndef,
      uid: Buffer.from(uid, 'hex'),
      counter,
      keys: [none, { key: fileRead ?? none.key }, { key: metaRead ?? none.key }],
      padding: plain ? plain.subarray(11) : Buffer.alloc(5),
      tamper: Buffer.from(fileData?.slice(0, 2) ?? ''),
    })
    expect(shown.toString('latin1').slice(-query.length)).toBe(query)
  },
)
