import { uidToHex } from '../../../nfc/uid.ts'
import { type AnswerOf, act } from '../../api.ts'
import { ask } from '../../parts/ask.tsx'
import { Copyable } from '../../parts/copy.tsx'
import { WhenRead } from '../../parts/empty.tsx'
import { Fact, Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { Link, type ScreenProps } from '../../router.tsx'
import { may } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { ChipHistory } from './history.tsx'
import { words } from './words.ts'

type Chip = AnswerOf<'GET /admin/chips/:uid'>

export function ChipScreen({ id }: ScreenProps) {
  const chip = useRead('GET /admin/chips/:uid', { params: { uid: id } }, { on: ['chips'] })
  return (
    <WhenRead of={chip}>
      {(data) => (
        <div class="chip">
          <header class="screen-head">
            <h1>{data.label ?? data.uidHex}</h1>
            <StateBadge tone={data.disabledAt === null ? 'good' : 'bad'}>
              {data.disabledAt === null ? words.active : words.disabled}
            </StateBadge>
            <Act chip={data} onDone={chip.reload} />
          </header>
          <div class="chip-columns">
            <Panel title={words.about}>
              <Facts chip={data} />
            </Panel>
            <Panel title={words.history} className="chip-history">
              <ChipHistory uid={data.uidHex} key={data.disabledAt} />
            </Panel>
          </div>
        </div>
      )}
    </WhenRead>
  )
}

function Act({ chip, onDone }: { readonly chip: Chip; readonly onDone: () => void }) {
  const { uidHex, team, disabledAt } = chip
  const name = chip.label ?? chip.uidHex
  const isDisabled = disabledAt !== null
  const key = isDisabled ? 'POST /admin/chips/:uid/enable' : 'POST /admin/chips/:uid/disable'
  if (!may(key)) return null
  const button = isDisabled ? words.enable : words.disable
  const onClick = () =>
    ask({
      title: isDisabled ? words.enableAsk(name) : words.disableAsk(name),
      children: <p>{isDisabled ? words.enableWhy : words.disableWhy}</p>,
      button,
      isDangerous: !isDisabled,
      team,
      ...(isDisabled ? {} : { note: { label: words.reason, maxLength: 500 } }),
      run: async (confirmed, reason) => {
        const params = { uid: uidHex }
        if (isDisabled) await act('POST /admin/chips/:uid/enable', { params }, confirmed)
        else await act('POST /admin/chips/:uid/disable', { params, body: { reason } }, confirmed)
        onDone()
      },
    })
  return (
    <button type="button" class={isDisabled ? 'button primary' : 'button danger'} onClick={onClick}>
      {button}
    </button>
  )
}

function Facts({ chip }: { readonly chip: Chip }) {
  const { fields } = words
  const { linkedToken: token, item } = chip
  const names = (events: readonly { readonly name: string }[]) => events.map(({ name }) => name).join(', ')
  return (
    <dl class="facts">
      <Fact name={fields.uid}>
        <Copyable value={chip.uidHex} label={fields.uid} />
      </Fact>
      <Fact name={fields.team}>{chip.team}</Fact>
      <Fact name={fields.group}>{chip.chipGroup.name}</Fact>
      {item && (
        <Fact name={fields.item}>{item.variant === null ? item.name : `${item.name} · ${item.variant}`}</Fact>
      )}
      {token && (
        <Fact name={fields.token}>
          <Copyable
            value={`${token.chainId}:${token.contractAddress}/${token.tokenId}`}
            label={fields.token}
          />
        </Fact>
      )}
      {token && (
        <Fact name={fields.owner}>
          {token.ownerAddress ? (
            <Copyable value={token.ownerAddress} label={fields.owner} />
          ) : (
            (token.ownerNote ?? '–')
          )}
        </Fact>
      )}
      <Fact name={fields.leadsTo}>{chip.redirectUrl ?? words.tapPage}</Fact>
      <Fact name={fields.lastTap}>
        <Time at={chip.lastTapAt} />
      </Fact>
      <Fact name={fields.counter}>{chip.lastCounter ?? '–'}</Fact>
      <Fact name={fields.keySet}>{chip.keySet ?? chip.family}</Fact>
      {chip.tamper && (
        <Fact name={fields.seal}>
          <StateBadge tone={chip.tamper === 'open' ? 'bad' : 'good'}>{words.seals[chip.tamper]}</StateBadge>
          {chip.openedAt && <Time at={chip.openedAt} />}
        </Fact>
      )}
      {chip.badgeEvents.length > 0 && <Fact name={fields.badges}>{names(chip.badgeEvents)}</Fact>}
      {chip.guestbookEvents.length > 0 && <Fact name={fields.guestbooks}>{names(chip.guestbookEvents)}</Fact>}
      {chip.disabledReason && <Fact name={fields.reason}>{chip.disabledReason}</Fact>}
      {chip.replacedBy && (
        <Fact name={fields.replacedBy}>
          <Link to={`/chips/${uidToHex(chip.replacedBy)}`}>{uidToHex(chip.replacedBy)}</Link>
        </Fact>
      )}
      <Fact name={fields.registered}>
        <Time at={chip.createdAt} />
      </Fact>
    </dl>
  )
}
