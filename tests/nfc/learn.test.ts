import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import fieldChips from '../../fixtures/vectors/field-chips.json' with { type: 'json' }
import { EmulatedCard } from '../../src/nfc/emulator/card.ts'
import { type Learned, learn } from '../../src/nfc/learn/learn.ts'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import {
  boltcardFileRead,
  boltcardMetaRead,
  fileReadKeys,
  sdmBackendMetaRead,
} from '../../src/nfc/ntag424/diversify.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript } from '../../src/nfc/script.ts'
import { uidToHex } from '../../src/nfc/uid.ts'
import { foreignTap } from '../support/foreign-taps.ts'
import { setUpChip } from '../support/set-up-chip.ts'

const zero = '0'.repeat(32)
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const aes = (hex: string): AesKey => new AesKey(bytes(hex))
const own = (...hex: string[]) => hex.map((one, index) => ({ bytes: bytes(one), name: `key ${index + 1}` }))
const withHead = (template: string, query: string): string =>
  `${/^[^?]+/.exec(template)?.[0].replace('^', '') ?? 'https://t.example/424'}?${query}`

const found = (learned: Learned) => {
  if (!learned.found) throw new Error(learned.nearest.reason)
  return learned
}
const reason = (learned: Learned): string =>
  learned.found ? `found ${learned.keySet.template}` : learned.nearest.reason
const forgeable = 'Anyone can forge these taps'

describe('chips as people have them', () => {
  test.each(fieldChips.cases)('$name', ({ keySet, uid, taps }) => {
    const { metaReadKey = zero, fileReadKey = zero, template = '', tamper }: Record<string, string> = keySet
    const urls = taps.map(({ query }) => withHead(template, query))
    const learned = found(learn({ urls, keys: own('11'.repeat(16), fileReadKey, metaReadKey) }))
    expect(learned.keySet).toMatchObject({ fileReadKey, diversification: 'none' })
    expect(learned.keySet.tamper).toBe(tamper)
    // A parameter that neither the MAC nor the verifier needs is not part of what is learned.
    const bare = template.includes('{keySet}')
      ? '?e={picc}&c={mac}'
      : template.replace('lnurlw://card.example/ln', '')
    expect(learned.keySet.template).toBe(bare)
    expect(learned.taps).toMatchObject(taps.map(({ query: _, ...right }) => ({ tamper: null, ...right })))
    expect(uidToHex(learned.taps[0]?.uid ?? '')).toBe(uid)
    expect(learned.warnings.some((text) => text.includes(forgeable))).toBe(fileReadKey === zero)
  })

  test('a URL without a counter, with the reason', () => {
    const { query, uid } = fieldChips.withoutCounter
    const learned = learn({ urls: [`https://t.example/?${query}`], keys: [] })
    expect(reason(learned)).toContain('to a UID without a counter. A copy of such a URL cannot be told')
    expect(learned).toMatchObject({
      found: false,
      nearest: { uid: BigInt(`0x${uid}`).toString(), counter: null },
    })
  })

  // nfc-developer/sdm-backend tests/test_libsdm.py, test_sun3_custom: all values in one parameter.
  test('values without separators', () => {
    const url =
      'https://t.example/tag?e=8ACADDEF0A9B62CDAE39A16B83FC14DEB8436E11F627BB7F543FCC0C1E0D1A89238B2543A8DEBAD8'
    const keys = own('b62a9baf092439bd43c62aee96b970c5', '42aff114f2cb3b6141be6dc95dfc5416')
    const learned = found(learn({ urls: [url], keys }))
    expect(learned.keySet.template).toBe('?e={picc}^{enc}{mac}')
    expect(learned.taps).toMatchObject([{ counter: 291, fileData: 'NTXXqno_oBFpwy-V' }])
  })

  test.each([16, 32, 64])('values without separators, with %i bytes of data', (size) => {
    const [metaKey, fileKey] = ['42aff114f2cb3b6141be6dc95dfc5416', 'b62a9baf092439bd43c62aee96b970c5']
    const chip = { uid: '04A1B2C3D4E580', metaRead: aes(metaKey), fileRead: aes(fileKey) }
    const keys = own(metaKey, fileKey)
    for (const template of ['?e={picc}^{enc}{mac}', '?m={uid}{ctr}^{enc}{mac}', '?m=^{uid}{ctr}{enc}{mac}']) {
      const fileData = Buffer.alloc(size, '*')
      const url = foreignTap({ ...chip, fileData, template: `https://t.example/t${template}` }, 9)
      expect(found(learn({ urls: [url], keys })).keySet.template).toBe(template)
    }
  })

  // The same, test_sdm_lrp1.
  test('LRP mode with encrypted data', () => {
    const url =
      'https://t.example/tag?picc_data=07D9CA2545881D4BFDD920BE1603268C0714420DD893A497&enc=D6E921C47DB4C17C56F979F81559BB83&cmac=F9481AC7D855BDB6'
    const learned = found(learn({ urls: [url], keys: [] }))
    expect(learned.keySet.template).toBe('?picc_data={picc}&enc=^{enc}&cmac={mac}')
    expect(learned.taps).toMatchObject([{ counter: 4, fileData: 'NTXXb7dz3PsYYBlU' }])
  })

  test('LRP mode with a plain mirror, which does not show it', () => {
    const fileKey = 'b45775776cb224c75bcde7ca3704e933'
    const chip = { uid: '04A1B2C3D4E580', metaRead: aes(zero), fileRead: aes(fileKey), mode: 'lrp' } as const
    const template = 'https://t.example/?^uid={uid}&ctr={ctr}&c={mac}'
    const learned = found(learn({ urls: [foreignTap({ ...chip, template }, 3)], keys: own(fileKey) }))
    expect(learned.keySet).toMatchObject({ template: '?^uid={uid}&ctr={ctr}&c={mac}', fileReadKey: fileKey })
  })

  test.each([0, 1])('a bolt card of version %i, from the issuer key', (version) => {
    const issuer = '00112233445566778899aabbccddee01'
    const card = (uid: string) => ({
      template: 'lnurlw://card.example/ln?p={picc}&c={mac}',
      uid,
      metaRead: new AesKey(boltcardMetaRead(bytes(issuer))),
      fileRead: boltKey(issuer, uid, version),
    })
    const urls = [foreignTap(card('04a39493cc8680'), 7), foreignTap(card('04996C6A926980'), 9)]
    expect(found(learn({ urls, keys: own(issuer) })).keySet).toEqual({
      id: expect.any(Number),
      metaReadKey: boltcardMetaRead(bytes(issuer)).toString('hex'),
      fileReadKey: issuer,
      diversification: 'boltcard',
      ...(version === 0 ? {} : { systemIdentifier: '01000000' }),
      template: '?p={picc}&c={mac}',
    })
  })
})

const boltKey = (issuer: string, uid: string, version: number): AesKey =>
  new AesKey(boltcardFileRead(aes(issuer), bytes(uid), version))

const key = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((one) => Buffer.from(one).toString('hex'))
const uid = fc
  .uint8Array({ minLength: 6, maxLength: 6 })
  .map((one) => `04${Buffer.from(one).toString('hex')}`)
const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z_]{0,6}$/), { minLength: 6, maxLength: 6 })
const derivation = fc.constantFrom(
  { diversification: 'none' } as const,
  { diversification: 'an10922' } as const,
  { diversification: 'an10922', systemIdentifier: '3042f54e585020416275' } as const,
  { diversification: 'boltcard' } as const,
  { diversification: 'boltcard', systemIdentifier: '01000000' } as const,
  { diversification: 'sdm-backend' } as const,
  { diversification: 'sdm-backend-legacy' } as const,
)

/** A template with its values in any order that a chip can have, and ^ at the name or value of a parameter, or in the head. */
const template = fc
  .record({
    names,
    mirror: fc.constantFrom(['{picc}'], ['{uid}', '{ctr}'], ['{uid}x{ctr}'], ['{ctr}-{uid}']),
    extras: fc.subarray(['{enc}', '{tt}', 'jacket', '7']),
    order: fc.infiniteStream(fc.nat()),
    place: fc.constantFrom('nothing', 'name', 'value', 'start', 'text'),
    head: fc.constantFrom('https://t.example/424', 'http://www.brand.example/a/b', 'https://www.t.example/'),
  })
  .map(({ names: all, mirror, extras, order, place, head }) => {
    const before = [
      ...mirror,
      ...extras.filter((one) => place !== 'nothing' || !['{enc}', '{tt}'].includes(one)),
    ]
    const sorted = before.map((value) => ({ value, at: order.next().value })).sort((a, b) => a.at - b.at)
    const parameters = [...sorted.map(({ value }) => value), '{mac}'].map((value, index) => [
      all[index] ?? 'z',
      value,
    ])
    // The MAC has to cover encrypted data and the status.
    const first = parameters.findIndex(([, value]) => value === '{enc}' || value === '{tt}')
    const marked = Math.min(first < 0 ? before.length - 1 : first, (order.next().value ?? 0) % before.length)
    const query = parameters
      .map(([name, value], index) => {
        if (index !== marked || (place !== 'name' && place !== 'value')) return `${name}=${value}`
        return place === 'name' ? `^${name}=${value}` : `${name}=^${value}`
      })
      .join('&')
    const start =
      place === 'start' ? `^${head}` : place === 'text' ? head.replace(/^(https?:\/\/(www\.)?)/, '$1^') : head
    return `${start}?${query}`
  })

describe('any template, derivation, and order of keys', () => {
  test('is learned from one tap so that another chip of the order verifies too', () => {
    fc.assert(
      fc.property(
        fc.record({
          template,
          derivation,
          master: key,
          meta: key,
          other: key,
          uids: fc.tuple(uid, uid),
          isLast: fc.boolean(),
        }),
        (given) => {
          const { diversification, ...rest } = given.derivation
          const systemIdentifier = bytes('systemIdentifier' in rest ? rest.systemIdentifier : '')
          const derive = fileReadKeys({ diversification, master: bytes(given.master), systemIdentifier })
          const metaBytes = {
            ...{
              none: bytes(given.meta),
              an10922: bytes(given.meta),
              'sdm-backend-legacy': bytes(given.meta),
            },
            ...{
              boltcard: boltcardMetaRead(bytes(given.master)),
              'sdm-backend': sdmBackendMetaRead(bytes(given.master)),
            },
          }[diversification]
          const chip = (of: string, fileData: string) => ({
            ...{ template: given.template, uid: of, metaRead: new AesKey(metaBytes) },
            ...{ fileRead: derive(bytes(of), 0), fileData: Buffer.from(fileData.padEnd(32, '*')) },
          })
          const [first, second] = given.uids
          const urls = [
            foreignTap(chip(first, 'order 1'), 0x010203),
            foreignTap(chip(second, 'order 2'), 5),
          ] as const
          const hex = [given.other, given.meta, given.master]
          const keys = own(...(given.isLast ? hex : hex.reverse()))
          const one = found(learn({ urls: urls.slice(0, 1), keys }))
          expect(one.taps).toMatchObject([
            {
              counter: 0x010203,
              fileData: given.template.includes('{enc}') ? expect.stringContaining('order 1') : null,
            },
          ])
          expect(one.taps[0]?.tamper).toBe(given.template.includes('{tt}') ? 'closed' : null)
          expect(one.keySet).toMatchObject({ diversification, fileReadKey: given.master, ...rest })
          const both = found(learn({ urls, keys }))
          const { metaReadKey: _, ...same } = one.keySet
          expect(both.keySet).toMatchObject(same)
          expect(learn({ urls: urls.slice(0, 1), keys: own(given.other) }).found).toBe(false)
        },
      ),
      { seed: 34, numRuns: 12 },
    )
  })
})

describe('a chip that Tapchip set up', () => {
  const set = {
    ...{
      id: 7,
      metaReadKey: '0c3b25d92b38ae443229dd59ad34b85d',
      fileReadKey: 'b45775776cb224c75bcde7ca3704e933',
    },
    ...({ diversification: 'an10922', macInputFrom: null } as const),
  }
  const tapOf = async (text: string, of: string): Promise<string> => {
    const card = new EmulatedCard('learn', await setUpChip(set, of, { text }))
    const { url } = await runScript(card, readTap())
    return url ?? ''
  }

  test.each([
    '?^d={keySet}&e={picc}&c={mac}',
    '?d={keySet}&^e={picc}&c={mac}',
    '?picc_data={picc}&cmac={mac}',
    '?picc_data={picc}&enc=^{enc}&cmac={mac}',
    '?e={picc}^{enc}{mac}',
    '?m={uid}x{ctr}x{mac}',
    '?m=^{uid}x{ctr}x{mac}',
    '^https://t.example/424?uid={uid}&ctr={ctr}&c={mac}',
    'https://^t.example/424?uid={uid}&ctr={ctr}&c={mac}',
    '?u={uid}&n={ctr}&enc=^{enc}&c={mac}',
  ])('%s is learned from its tap, and holds for another chip', async (text) => {
    const urls = [await tapOf(text, '04A1B2C3D4E580'), await tapOf(text, '04A1B2C3D4E680')]
    const keys = own(set.fileReadKey, set.metaReadKey)
    const { metaReadKey: _, ...rest } = found(learn({ urls: urls.slice(0, 1), keys })).keySet
    expect(rest).toMatchObject({ diversification: 'an10922', fileReadKey: set.fileReadKey, template: text })
    expect(found(learn({ urls, keys })).keySet).toMatchObject(rest)
  })
})

describe('what does not fit is said in words', () => {
  const [meta, file] = ['0c3b25d92b38ae443229dd59ad34b85d', 'b45775776cb224c75bcde7ca3704e933']
  const url = 'https://card.example/ln?p=4E2E289D945A66BB13377A728884E867&c=E19CCB1FED8892CE'
  const plain = 'https://t.example/?uid=04A1B2C3D4E580&ctr=000007&mac=EFE681652DC5864F'

  test('the key of the MAC is missing', () => {
    const learned = learn({ urls: [url], keys: own(meta) })
    expect(learned).toMatchObject({ found: false, nearest: { uid: '1294590830340480', counter: 3 } })
    expect(reason(learned)).toMatch(
      /^The URL decrypts with key 1 to the UID 04:99:6C:6A:92:69:80 and the counter 3, but its MAC does not hold/,
    )
    expect(reason(learn({ urls: [plain], keys: own(meta) }))).toMatch(
      /^The URL shows the UID 04:A1:B2:C3:D4:E5:80 and the counter 7, but/,
    )
  })

  test('the key of the PICC data is missing', () => {
    const learned = learn({ urls: [url], keys: own(file) })
    expect(learned).toMatchObject({ found: false, nearest: { uid: null, counter: null } })
    expect(reason(learned)).toMatch(/^The PICC data does not decrypt to a UID with any of the 2 keys, nor/)
  })

  test('the second URL is of other chips', () => {
    const keys = own(meta, file, '00112233445566778899aabbccddeeff')
    expect(reason(learn({ urls: [url, plain], keys }))).toContain('URL 2 does not: p is missing')
    const forged = url.replace('CE', 'CF')
    expect(reason(learn({ urls: [url, forged], keys }))).toContain('URL 2 does not hold under it')
  })

  test.each([
    ['https://t.example/t', 'The URL has no parameters. Use the complete URL'],
    ['https://t.example/04A1B2C3D4E580/000007/EFE681652DC5864F', 'The URL has its values in the path'],
    [
      url.split('&')[0] ?? '',
      'The URL has no MAC, and ends after p: a shell cuts a URL at & unless it stands in quotes.',
    ],
    [url.slice(0, -3), 'The URL was cut off: c ends in 13 hex digits, and a MAC has 16.'],
    [url.replace('4E2E', '4E'), 'A value of the URL was cut off: p has 30 hex digits'],
    [url.replace(/c=.*/, `c=${'0'.repeat(16)}`), 'The MAC is all zeros: the chip does not fill it in.'],
    [
      plain.replace('=04', '=08'),
      'The URL shows the UID 08:A1:B2:C3:D4:E5:80, and those of all NTAG 424 DNA begin with 04.',
    ],
    [`${plain}&x=${'ab'.repeat(200)}`, 'The URL has 472 characters, and the file of a chip has 256 bytes'],
    ['https://t.example/t?utm=1&c=E19CCB1FED8892CE', 'The URL has no values of a tap'],
    [
      `https://nfc.example/?pk1=04${'cd'.repeat(64)}&pk2=04${'ab'.repeat(64)}&rnd=${'00'.repeat(32)}&rndsig=3045${'00'.repeat(70)}`,
      'This is the URL of a HaLo chip',
    ],
  ])('%s', (text, words) => {
    expect(reason(learn({ urls: [text], keys: own(meta, file) }))).toContain(words)
  })

  test.each([
    [url.replace('&', '&amp;'), 'The URL is HTML-escaped'],
    [url.replace('/ln?', '/#/t?'), 'The URL has its parameters behind a #'],
    [`"${url}"`, undefined],
    [url.replace('https://', ''), undefined],
    [`${url}#top`, undefined],
  ])('%s is learned from, with a warning', (text, words) => {
    const learned = found(learn({ urls: [text], keys: own(meta, file) }))
    expect(learned.keySet.template).toBe('?p={picc}&c={mac}')
    expect(learned.warnings).toEqual(words === undefined ? [] : [expect.stringContaining(words)])
  })

  test('a status that the MAC does not cover, and text that it covers', () => {
    const chip = { uid: '04A1B2C3D4E580', metaRead: aes(meta), fileRead: aes(file) }
    const learnedFrom = (template: string) =>
      found(learn({ urls: [foreignTap({ ...chip, template }, 1)], keys: own(meta, file) })).warnings
    expect(learnedFrom('https://t.example/?uid={uid}&ctr={ctr}&tamper={tt}&c={mac}')).toEqual([
      expect.stringContaining('The status CC in the URL is not read'),
    ])
    expect(learnedFrom('https://t.example/?^lang=de&uid={uid}&ctr={ctr}&c={mac}')).toEqual([
      expect.stringContaining('The MAC covers lang=de'),
    ])
  })

  test("a number in d is the key set's, unless another chip has another", () => {
    const chip = { uid: '04A1B2C3D4E580', metaRead: aes(meta), fileRead: aes(file) }
    const tap = (d: number) =>
      foreignTap({ ...chip, template: `https://t.example/t?d=${d}&e={picc}&c={mac}` }, d)
    const keys = own(meta, file)
    expect(found(learn({ urls: [tap(101)], keys })).keySet).toMatchObject({
      id: 101,
      template: '?d={keySet}&e={picc}&c={mac}',
    })
    expect(found(learn({ urls: [tap(1), tap(2)], keys, id: 7 })).keySet).toMatchObject({
      id: 7,
      template: '?e={picc}&c={mac}',
    })
    expect(found(learn({ urls: [tap(101)], keys, id: 7 })).warnings).toEqual([
      'The number of the key set is 101, which the URL shows, and not 7.',
    ])
  })

  test('64 keys, and a URL of which one reading in sixteen is right, take seconds at most', () => {
    const many = Array.from({ length: 64 }, (_, index) => index.toString(16).padStart(2, '0').repeat(16))
    expect(learn({ urls: [plain], keys: own(...many) }).found).toBe(false)
  }, 60_000)
})
