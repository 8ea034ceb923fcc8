import { ExactNumber, isJsonObject, type JsonObject, parseObject } from '../../../values/json.ts'
import type { Explorers } from '../../chain/explorers.ts'
import type { LocatedToken } from '../../store/phygitals/tokens.ts'
import type { ItemOfPage } from '../../store/tap-page/tap-pages.ts'
import { type Picture, type Piece, type PieceSection, sectionNames } from './content.ts'

/** The data of a piece from metadata and items; the chain adds the rest. */
export type PieceDescription = Omit<Piece, 'kind' | 'token' | 'owner' | 'isUnowned'>

const nothing: PieceDescription = {
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

// A page has to stay small, however large its metadata is.
const maxLengths = { name: 1000, description: 5000, value: 500, section: 1500, url: 2000 }
const maxCounts = { pictures: 24, rows: 20 }

/**
 * Reads marketplace metadata; oversized values are left out.
 * @param metadata the token's, as JSON
 * @param item the chip's, for values that the metadata lacks
 */
export function describePiece(metadata: string | null, item: ItemOfPage | undefined): PieceDescription {
  const described = ofMetadata(metadata)
  const before = item ? ofItem(item) : nothing
  return {
    name: described.name ?? before.name,
    collection: described.collection ?? before.collection,
    description: described.description ?? before.description,
    image: described.image ?? before.image,
    video: described.video ?? before.video,
    gallery: described.gallery.length > 0 ? described.gallery : before.gallery,
    attributes: described.attributes.length > 0 ? described.attributes : before.attributes,
    sections: described.sections,
    edition: described.edition,
  }
}

export function tokenOnPage(token: LocatedToken, { explorers }: { explorers: Explorers }): Piece['token'] {
  const { chainId, contractAddress, tokenId, metadata } = token
  return {
    ...{ chainId, contractAddress, tokenId },
    chainName: explorers.chainName(chainId),
    url: explorers.token(token),
    dataPath: metadata === null ? undefined : `/metadata/${chainId}/${contractAddress}/${tokenId}`,
  }
}

function ofMetadata(text: string | null): PieceDescription {
  // Exceptions cost as much as rendering a page's text.
  const metadata: JsonObject | undefined = text === null ? undefined : parseObject(text)
  if (!metadata) return nothing
  const { name, description, collection, media_gallery, attributes } = metadata
  const pictures = listOf(media_gallery).flatMap((one) => pictureOf(one, 'media', 'type'))
  const animation = url(metadata.animation_url)
  const shown = [...(animation === undefined ? [] : [{ url: animation, mimeType: undefined }]), ...pictures]
  const image = url(metadata.image) ?? url(metadata.image_url)
  const traits = listOf(attributes)
  return {
    name: textWithin(name, maxLengths.name),
    // Some marketplaces write { name, family }.
    collection: textWithin(isJsonObject(collection) ? collection.name : collection, maxLengths.name),
    description: textWithin(description, maxLengths.description),
    // The edition stands at the top of the page.
    attributes: traits.filter((one) => !isEdition(one)).flatMap(traitOf),
    sections: sectionNames.flatMap((name) => sectionOf(name, metadata[name])),
    edition: editionOf(metadata.edition, traits),
    ...shownOf(image, shown),
  }
}

function ofItem({ variantId, ...item }: ItemOfPage): PieceDescription {
  const variants = listIn(item.variants)
  const variant = variants.find((one) => isJsonObject(one) && one.id === variantId)
  const traits = variantId !== null && isJsonObject(variant) ? listOf(variant.attributes) : []
  const pictures = listIn(item.media).flatMap((one) => pictureOf(one, 'url', 'mimeType'))
  return {
    name: textWithin(item.name, maxLengths.name),
    collection: textWithin(item.contractName, maxLengths.name),
    description: textWithin(item.description, maxLengths.description),
    attributes: traits.flatMap((one) =>
      isJsonObject(one) ? traitOf({ trait_type: one.name, value: one.value }) : [],
    ),
    sections: [],
    edition: undefined,
    ...shownOf(url(item.imageUrl), pictures),
  }
}

/** The first video replaces the image, which becomes its poster. */
function shownOf(
  image: string | undefined,
  pictures: readonly Picture[],
): Pick<PieceDescription, 'image' | 'video' | 'gallery'> {
  const video = pictures.find(isVideo)?.url
  const first = image ?? pictures.find((one) => !isVideo(one) && isImage(one))?.url
  const gallery = pictures.filter((one) => one.url !== first && one.url !== video && isShown(one))
  return {
    image: first,
    video: video === undefined ? undefined : { url: video, poster: first },
    gallery: gallery.slice(0, maxCounts.pictures),
  }
}

const path = (one: Picture): string => one.url.replace(/[?#].*$/s, '')
export const isVideo = (one: Picture): boolean =>
  one.mimeType?.startsWith('video/') ?? /\.(mp4|m4v|webm|mov|ogv)$/i.test(path(one))
const isImage = ({ mimeType }: Picture): boolean => mimeType === undefined || mimeType.startsWith('image/')
/** Pages, models, and sounds are not shown. */
const isShown = (one: Picture): boolean =>
  isVideo(one) || (isImage(one) && !/\.(html?|glb|gltf|usdz|mp3|wav|pdf|js)$/i.test(path(one)))

function pictureOf(one: unknown, urlName: string, typeName: string): Picture[] {
  if (!isJsonObject(one)) return []
  const at = url(one[urlName])
  const type = textWithin(one[typeName], 100)?.toLowerCase()
  return at === undefined ? [] : [{ url: at, mimeType: type?.includes('/') ? type : undefined }]
}

function traitOf(one: unknown): { name: string; value: string }[] {
  if (!isJsonObject(one)) return []
  const value = traitText(one.value, one.display_type)
  if (value === undefined) return []
  return [{ name: textWithin(one.trait_type, maxLengths.value) ?? '', value }]
}

function traitText(value: unknown, display: unknown): string | undefined {
  const text = textWithin(value, maxLengths.value)
  if (text === undefined || typeof value === 'string') return text
  if (display === 'boost_percentage') return `${text}%`
  // Seconds since 1970; beyond the year 9999 it is no date.
  if (display === 'date' && typeof value === 'number' && Math.abs(value) < 253_402_300_800)
    return new Date(value * 1000).toISOString().slice(0, 10)
  return text
}

/** A text, or a list of `{ label, value }`. */
function sectionOf(is: PieceSection['is'], value: unknown): PieceSection[] {
  const text = textWithin(value, maxLengths.section)
  if (text !== undefined) return [{ is, text, rows: [] }]
  const rows = listOf(value)
    .slice(0, maxCounts.rows)
    .flatMap((one) => {
      if (!isJsonObject(one)) return []
      const row = textWithin(one.value, maxLengths.value)
      return row === undefined ? [] : [{ name: textWithin(one.label, 100) ?? '', value: row }]
    })
  return rows.length === 0 ? [] : [{ is, text: undefined, rows }]
}

const isEdition = (one: unknown): boolean =>
  isJsonObject(one) && /^edition$/i.test(textWithin(one.trait_type, 100) ?? '')

function editionOf(edition: unknown, traits: readonly unknown[]): string | undefined {
  const text = textWithin(edition, maxLengths.value)
  if (text !== undefined) return text
  for (const one of traits) {
    if (!isJsonObject(one) || !isEdition(one)) continue
    const [value, of] = [textWithin(one.value, maxLengths.value), textWithin(one.max_value, maxLengths.value)]
    if (value !== undefined) return of === undefined ? value : `${value} / ${of}`
  }
  return undefined
}

function textWithin(value: unknown, length: number): string | undefined {
  const text =
    typeof value === 'string'
      ? value.trim()
      : typeof value === 'number' || typeof value === 'boolean'
        ? String(value)
        : value instanceof ExactNumber
          ? value.text
          : ''
  if (text === '') return undefined
  // By code points: half of a surrogate pair would be shown as a question mark.
  return text.length <= length ? text : `${[...text.slice(0, length)].slice(0, -1).join('')}…`
}

const url = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxLengths.url
    ? value.trim()
    : undefined

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, 200) : [])

/** Stored by this daemon as a list. */
const listIn = (text: string): readonly unknown[] => listOf(JSON.parse(text))
