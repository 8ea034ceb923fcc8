import { expect, test } from 'vitest'
import { parseExact } from '../../src/values/json.ts'
import { emptyMetadata } from '../../src/values/token.ts'
import { metadataProblems } from '../../src/values/token-metadata.ts'

const problems = (metadata: object, of: 'phygital' | 'event' = 'phygital', isRestored = false) =>
  [...metadataProblems({ ...emptyMetadata, ...metadata }, { of, isRestored })].map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )

test('names what is missing or of another type', () => {
  expect(problems({ extra: { as: ['it', 'is'] } })).toEqual([])
  expect(
    problems({ name: undefined, image: 1, attributes: [{ value: true }, 'x'], media_gallery: [{}] }),
  ).toEqual([
    'name: Required',
    'image: must be text',
    'attributes.0.trait_type: Required',
    'attributes.0.value: must be text or a number',
    'attributes.1: must be an object',
    'media_gallery.0.media: Required',
    'media_gallery.0.type: Required',
  ])
  expect(problems({ media_gallery: undefined }, 'event')).toEqual([])
  expect(problems({ media_gallery: undefined })).toEqual(['media_gallery: Required'])
  const exact = parseExact('{"attributes":[{"trait_type":"Edition","value":18446744073709551615}]}')
  expect(problems(Object(exact))).toEqual([])
})

test('looks at no element of a list that is too long', () => {
  const long = new Proxy(Array(10_001), {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) throw new Error(`element ${key} was looked at`)
      return Reflect.get(target, key)
    },
  })
  expect(problems({ attributes: long })).toEqual([
    'attributes: must have at most 10000 elements, but has 10001',
  ])
})

test('refuses harm always, and what marketplaces leave out unless it is restored', () => {
  const metadata = { external_url: 'javascript:alert(1)', background_color: '#ff8800' }
  const harm = 'external_url: must not use the scheme javascript:'
  expect(problems(metadata)).toEqual([harm, 'background_color: must be six hex digits without #: ff8800'])
  expect(problems(metadata, 'phygital', true)).toEqual([harm])
})
