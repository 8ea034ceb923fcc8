import { sql } from 'kysely'
import type { ChipsText, Engine } from '../database.ts'

// `json_each` takes a list as one parameter; `json_group_array` avoids passing rows through JavaScript.

export const sqliteEngine: Engine = {
  name: 'sqlite',
  listed: (values) => sql`(select value from json_each(${JSON.stringify(values)}))`,
  chipsAsElements: async (db, chipGroupId, page) => {
    const { rows } = await sql<ChipsText>`
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
    const found = textOf(rows)
    return { ...found, text: found.text.slice(1, -1) }
  },
  chipsAsLines: async (db, group, page) => {
    const { rows } = await sql<ChipsText>`
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
    return textOf(rows)
  },
}

const textOf = ([page]: ChipsText[]): ChipsText => ({
  text: page?.text ?? '',
  rows: page?.rows ?? 0,
  last: page?.last ?? null,
})
