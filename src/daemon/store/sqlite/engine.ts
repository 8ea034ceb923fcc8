import { sql } from 'kysely'
import type { ChipsText, Engine } from '../database/database.ts'

const revision: Engine['revision'] = ({ chipGroup, contractAddress, chainId, tokenId }) =>
  sql`revision(json_array(label, ${chipGroup}, "keySetId", "redirectUrl", "itemId", "variantId",
    ${contractAddress}, ${chainId}, ${tokenId}, "disabledAt" is not null))`

const exportedRevision = revision({
  chipGroup: sql.ref('chipGroup'),
  contractAddress: sql.ref('contractAddress'),
  chainId: sql.ref('chainId'),
  tokenId: sql.ref('tokenId'),
})

// `json_each` takes a list as one parameter; `json_group_array` avoids passing rows through JavaScript.

export const sqliteEngine: Engine = {
  name: 'sqlite',
  isShared: false,
  now: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  listed: (values) => sql`(select value from json_each(${JSON.stringify(values)}))`,
  revision,
  chipsAsElements: async (db, chipGroupId, page) => {
    const { rows } = await sql<ChipsText>`
      select json_group_array(json_object(
        'uid', uid, 'createdAt', "createdAt",
        'isConfigured', json(iif(${isConfigured}, 'true', 'false')),
        'redirectUrl', "redirectUrl"
      )) as text, count(*) as rows, max(uid) as last
      from (select * from chips where "chipGroupId" = ${chipGroupId} and uid > ${page.after} order by uid limit ${page.limit})
    `.execute(db)
    const found = textOf(rows)
    return { ...found, text: found.text.slice(1, -1) }
  },
  chipsAsLines: async (db, chips) => {
    const { rows } = await sql<ChipsText>`
      select group_concat(json_object(
        'uid', uid, 'chipGroup', "chipGroup", 'keySet', "keySetId", 'label', label, 'redirectUrl', "redirectUrl",
        'item', "itemId", 'variant', "variantId", 'contractAddress', "contractAddress", 'chainId', "chainId",
        'tokenId', "tokenId", 'disabled', json(iif("disabledAt" is null, 'false', 'true')),
        'lastCounter', iif("lastCounter" >= 0, "lastCounter", null), 'publicKey', "publicKey",
        'generation', generation, 'lastTapAt', "lastTapAt", 'createdAt', "createdAt",
        'isConfigured', json(iif(${isConfigured}, 'true', 'false')), 'revision', ${exportedRevision}
      ) || char(10), '') as text, count(*) as rows, max(uid) as last
      from ${chips}
    `.execute(db)
    return textOf(rows)
  },
}

const isConfigured = sql`("tokenRow" is not null or "itemId" is not null or "redirectUrl" is not null
  or exists (select 1 from "badgeAssignments" where "chipUid" = uid)
  or exists (select 1 from "guestbookAssignments" where "chipUid" = uid))`

const textOf = ([page]: ChipsText[]): ChipsText => ({
  text: page?.text ?? '',
  rows: page?.rows ?? 0,
  last: page?.last ?? null,
})
