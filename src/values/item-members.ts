import { isJsonObject } from './json.ts'

// Item members that a sheet can set, for CLI and daemon.

export interface ItemMembers {
  name?: string
  description?: string
  imageUrl?: string
  /** The symbol of a contract. */
  contract?: string | null
  media?: { mimeType: string; url: string }[]
  attributes?: { name: string; values: string[] }[]
  variants?: { id: string; attributes: { name: string; value: string }[] }[]
}
export type ItemMember = keyof ItemMembers

export const itemMembers = [
  'name',
  'description',
  'imageUrl',
  'contract',
  'media',
  'attributes',
  'variants',
] as const satisfies readonly ItemMember[]

/** The members that are lists, with the form of their elements. */
export const itemLists: { readonly [member in ItemMember]?: string } = {
  media: '[{ "mimeType", "url" }]',
  attributes: '[{ "name", "values": [] }]',
  variants: '[{ "id", "attributes": [{ "name", "value" }] }]',
}

export const isItemId = (text: string): boolean => /^[A-Za-z0-9._-]{1,64}$/.test(text)

/** Can follow the name of the member. */
class MemberProblem extends Error {}

type Reader<T> = (value: unknown) => T

const text =
  (max: number, { mayBeEmpty = true } = {}): Reader<string> =>
  (value) => {
    if (typeof value !== 'string') throw new MemberProblem('must be text')
    if (value.length > max) throw new MemberProblem(`must be at most ${max} characters`)
    if (value.includes('\0') || !value.isWellFormed())
      throw new MemberProblem('must not contain NUL or broken Unicode')
    if (!mayBeEmpty && value.trim() === '') throw new MemberProblem('must not be empty')
    return value
  }
const name = text(200, { mayBeEmpty: false })

const listOf =
  <T>(max: number, read: Reader<T>): Reader<T[]> =>
  (value) => {
    if (!Array.isArray(value)) throw new MemberProblem('must be a list')
    if (value.length > max) throw new MemberProblem(`must have at most ${max} elements`)
    return value.map((element, at) => {
      try {
        return read(element)
      } catch (error) {
        throw error instanceof MemberProblem
          ? new MemberProblem(`element ${at + 1}: ${error.message}`)
          : error
      }
    })
  }

/** Its members in the order of their names here: the daemon stores them as text. */
const shape =
  <T extends object>(members: { readonly [key in keyof T]: Reader<T[key]> }): Reader<T> =>
  (value) => {
    if (!isJsonObject(value)) throw new MemberProblem('must be an object')
    const read: Partial<T> = {}
    for (const key in members)
      try {
        read[key] = members[key](value[key])
      } catch (error) {
        throw error instanceof MemberProblem ? new MemberProblem(`${key} ${error.message}`) : error
      }
    return read as T
  }

const readers: { readonly [member in ItemMember]-?: Reader<ItemMembers[member]> } = {
  name,
  description: text(10_000),
  imageUrl: text(4096),
  contract: (value) => (value === null || value === '' ? null : text(64)(value)),
  media: listOf(100, shape({ mimeType: name, url: text(4096) })),
  attributes: listOf(100, shape({ name, values: listOf(1000, text(1000)) })),
  variants: listOf(
    1000,
    shape({
      id: text(64, { mayBeEmpty: false }),
      attributes: listOf(100, shape({ name, value: text(1000) })),
    }),
  ),
}

/** @returns the value as the daemon keeps it, or what can follow the member's name */
export function readItemMember(
  member: ItemMember,
  value: unknown,
): { readonly value: ItemMembers[ItemMember] } | { readonly problem: string } {
  try {
    return { value: readers[member](value) }
  } catch (error) {
    if (error instanceof MemberProblem) return { problem: error.message }
    throw error
  }
}
