import { nanoid } from 'nanoid'
import type { Queries } from '../database/database.ts'
import { setSetting, setting } from '../database/settings.ts'

const settingKey = 'sealEras'
/** Those before are told apart from seals that were never made, so that what they seal reads as expired. */
const kept = 4

/** Names of the times between restores of a backup, the current one first: seals of each have keys of their own. */
export async function sealEras(db: Queries): Promise<string[]> {
  return ((await setting(db, settingKey)) ?? '').split(' ')
}

/** Call it where taps may have been lost: IDs of theirs are given again. */
export async function beginSealEra(db: Queries): Promise<void> {
  const eras = [nanoid(), ...(await sealEras(db))].slice(0, kept)
  await setSetting(db, settingKey, eras.join(' '))
}
