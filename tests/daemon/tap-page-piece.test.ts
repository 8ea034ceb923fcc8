import { describe, expect, test } from 'vitest'
import { describePiece } from '../../src/daemon/domain/tap-page/piece.ts'

const nothing = {
  name: undefined,
  collection: undefined,
  description: undefined,
  image: undefined,
  video: undefined,
  gallery: [],
  attributes: [],
  sections: [],
  edition: undefined,
}
const of = (metadata: unknown) => describePiece(JSON.stringify(metadata), undefined)

const item = {
  variantId: 'm',
  name: 'Jacket',
  description: 'Warm',
  imageUrl: 'https://img.example/a.png',
  media: JSON.stringify([{ mimeType: 'video/mp4', url: 'ipfs://bafy/clip' }]),
  variants: JSON.stringify([
    { id: 's', attributes: [{ name: 'Size', value: 'S' }] },
    { id: 'm', attributes: [{ name: 'Size', value: 'M' }] },
  ]),
  contractName: 'Jackets',
}

describe('what a tap page says of a piece', () => {
  test('is what marketplaces read in its metadata', () => {
    const metadata = {
      name: ' Nº 7 ',
      collection: { name: 'Numbers', family: 'x' },
      description: 'Seven',
      image_url: 'ipfs://bafy/7.png',
      animation_url: 'https://img.example/7.mp4?x=1',
      edition: 7,
      attributes: [
        { trait_type: 'Colour', value: 'red' },
        { trait_type: 'Born', value: 1546360800, display_type: 'date' },
        { trait_type: 'Speed', value: 12, display_type: 'boost_percentage' },
        { trait_type: 'Rank', value: 0 },
        { value: 'plain' },
      ],
      media_gallery: [
        { media: 'https://img.example/back.jpg', type: 'image/jpeg' },
        { media: 'https://img.example/model.glb', type: 'model/gltf-binary' },
        { media: 'ipfs://bafy/7.png', type: 'image/png' },
      ],
    }
    expect(of(metadata)).toEqual({
      name: 'Nº 7',
      collection: 'Numbers',
      description: 'Seven',
      image: 'ipfs://bafy/7.png',
      video: { url: 'https://img.example/7.mp4?x=1', poster: 'ipfs://bafy/7.png' },
      gallery: [{ url: 'https://img.example/back.jpg', mimeType: 'image/jpeg' }],
      attributes: [
        { name: 'Colour', value: 'red' },
        { name: 'Born', value: '2019-01-01' },
        { name: 'Speed', value: '12%' },
        { name: 'Rank', value: '0' },
        { name: '', value: 'plain' },
      ],
      sections: [],
      edition: '7',
    })
    expect(of({ attributes: [{ trait_type: 'Edition', value: 3, max_value: 25 }] }).edition).toBe('3 / 25')
  })

  test('is what its item says before it is minted, with the variant of the chip', () => {
    const expected = {
      name: 'Jacket',
      collection: 'Jackets',
      description: 'Warm',
      image: 'https://img.example/a.png',
      video: { url: 'ipfs://bafy/clip', poster: 'https://img.example/a.png' },
      gallery: [],
      attributes: [{ name: 'Size', value: 'M' }],
      sections: [],
      edition: undefined,
    }
    expect(describePiece(null, item)).toEqual(expected)
    expect(describePiece('{"name":"Mine"}', item)).toEqual({ ...expected, name: 'Mine' })
    expect(describePiece(null, { ...item, variantId: null }).attributes).toEqual([])
  })

  test('has sections for care, material, and repair, each a text or a list', () => {
    const { sections } = of({
      care: ' Wash it cold. ',
      material: [
        { label: 'Shell', value: 'Wool' },
        { label: 'Weight', value: 480 },
        { label: 'x' },
        'y',
        null,
      ],
      repair: [],
    })
    expect(sections).toEqual([
      { is: 'care', text: 'Wash it cold.', rows: [] },
      {
        is: 'material',
        text: undefined,
        rows: [
          { name: 'Shell', value: 'Wool' },
          { name: 'Weight', value: '480' },
        ],
      },
    ])
    const long = of({ care: 'x'.repeat(9000), repair: Array.from({ length: 300 }, () => ({ value: 'y' })) })
    expect(long.sections.map(({ text, rows }) => [text?.length, rows.length])).toEqual([
      [1500, 0],
      [undefined, 20],
    ])
    expect(of({ care: {}, material: true, repair: [[], {}] }).sections).toEqual([
      { is: 'material', text: 'true', rows: [] },
    ])
  })

  test('leaves out what does not fit, and cuts what is too long, whatever the metadata is', () => {
    for (const metadata of [null, [], 'text', 7, { attributes: 'x', media_gallery: {}, image: 5, name: [] }])
      expect(of(metadata)).toEqual(nothing)
    expect(describePiece('{"name":', undefined)).toEqual(nothing)
    const odd = { trait_type: {}, value: {} }
    const many = Array.from({ length: 500 }, (_, n) => ({ trait_type: `T${n}`, value: n }))
    const long = of({
      name: '😀'.repeat(5000),
      image: `https://img.example/${'x'.repeat(5000)}`,
      attributes: [odd, null, 3, ...many],
      // Beyond what a JavaScript number holds, and no time that a date can be.
      edition: 1,
    })
    expect([...(long.name ?? '')].length).toBeLessThanOrEqual(1000)
    expect(long.name?.isWellFormed?.() ?? true).toBe(true)
    expect(long.image).toBeUndefined()
    // As many of them as fit stand on the page: tap-page-size.test.ts.
    expect(long.attributes).toHaveLength(197)
    const exact = '{"edition":12345678901234567890,"attributes":[{"value":1e300,"display_type":"date"}]}'
    expect(describePiece(exact, undefined)).toMatchObject({
      edition: '12345678901234567890',
      attributes: [{ name: '', value: '1e+300' }],
    })
  })
})
