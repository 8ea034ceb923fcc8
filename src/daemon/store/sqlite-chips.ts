import { sql } from 'kysely'
import type { Page } from './chip-pages.ts'
import type { Queries } from './database.ts'

// Work on very many chips at once, in SQLite's own words: `json_each` takes any number of values as one
// parameter, and `json_group_array` writes the answer without a row passing through JavaScript.

/**
 * Sets the redirect URL of a team's chips. @returns how many of them there were
 * @param uids decimal, each once; sorted, so that the pages of the table are touched in order
 */
export async function setRedirects(
  db: Queries,
  edit: { teamId: number; uids: readonly string[]; redirectUrl: string | null },
): Promise<number> {
  const { numAffectedRows } = await sql`
    update chips set "redirectUrl" = ${edit.redirectUrl}
    where uid in (select value from json_each(${JSON.stringify(edit.uids)})) and "teamId" = ${edit.teamId}
  `.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** How many of the UIDs, each given once, are the team's chips. */
export async function countOfTeam(db: Queries, teamId: number, uids: readonly string[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from json_each(${JSON.stringify(uids)}) as given
    cross join chips on chips.uid = given.value where chips."teamId" = ${teamId}
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Assigns a guestbook event to a team's chips; once is enough. @returns how many there were, and how many got it now */
export async function assignToChips(
  db: Queries,
  of: { guestbookEventId: number; teamId: number; uids: readonly string[]; at: string },
): Promise<{ there: number; assigned: number }> {
  const { numAffectedRows } = await sql`
    insert into "guestbookAssignments" ("guestbookEventId", "chipUid", "createdAt")
    select ${of.guestbookEventId}, uid, ${of.at} from chips
    where uid in (select value from json_each(${JSON.stringify(of.uids)})) and "teamId" = ${of.teamId}
    on conflict do nothing
  `.execute(db)
  return { there: await countOfTeam(db, of.teamId, of.uids), assigned: Number(numAffectedRows ?? 0n) }
}

/** Those of the UIDs that are not the team's chips. */
export async function notOfTeam(db: Queries, teamId: number, uids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ uid: string }>`
    select value as uid from json_each(${JSON.stringify(uids)}) as given
    where not exists (select 1 from chips where chips.uid = given.value and chips."teamId" = ${teamId})
  `.execute(db)
  return rows.map((row) => row.uid)
}

/** One page of a chip group as the elements of a JSON array, without its brackets. */
export async function chipsAsElements(
  db: Queries,
  chipGroupId: number,
  page: { after: string; limit: number },
): Promise<Page> {
  const { rows } = await sql<Page>`
    select json_group_array(json_object(
      'uid', uid, 'createdAt', "createdAt",
      'isConfigured', json(case when "tokenRow" is not null or "itemId" is not null or "redirectUrl" is not null
        or exists (select 1 from "badgeAssignments" where "chipUid" = uid)
        or exists (select 1 from "guestbookAssignments" where "chipUid" = uid)
        then 'true' else 'false' end),
      'redirectUrl', "redirectUrl"
    )) as text, count(*) as rows, max(uid) as last
    from (select * from chips where "chipGroupId" = ${chipGroupId} and uid > ${page.after} order by uid limit ${page.limit})
  `.execute(db)
  const found = pageIn(rows)
  return { ...found, text: found.text.slice(1, -1) }
}

/** One page of a chip group as JSON lines: what an export says of a chip. */
export async function chipsAsLines(
  db: Queries,
  group: { id: number; name: string },
  page: { after: string; limit: number },
): Promise<Page> {
  const { rows } = await sql<Page>`
    select group_concat(json_object(
      'uid', uid, 'chipGroup', ${group.name}, 'keySet', "keySetId", 'label', label, 'redirectUrl', "redirectUrl",
      'item', "itemId", 'variant', "variantId", 'contractAddress', address, 'chainId', "chainId", 'tokenId', "tokenId",
      'lastCounter', case when "lastCounter" >= 0 then "lastCounter" end, 'publicKey', "publicKey"
    ) || char(10), '') as text, count(*) as rows, max(uid) as last
    from (
      select chips.*, contracts.address, contracts."chainId", tokens."tokenId" from chips
      left join tokens on tokens.id = chips."tokenRow" left join contracts on contracts.id = tokens."contractId"
      where chips."chipGroupId" = ${group.id} and uid > ${page.after} order by uid limit ${page.limit}
    )
  `.execute(db)
  return pageIn(rows)
}

const pageIn = ([page]: Page[]): Page => ({
  text: page?.text ?? '',
  rows: page?.rows ?? 0,
  last: page?.last ?? null,
})
