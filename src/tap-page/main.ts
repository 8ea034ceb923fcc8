// Everything here is an extra: without it the page is whole, and its forms are sent as forms.
import { enhanceActions } from './actions.ts'
import { giveRoomBack } from './cards.ts'
import { countDown } from './countdown.ts'
import { ageTap } from './freshness.ts'
import { keepLive } from './live.ts'
import { page } from './page.ts'
import { watchPictures } from './pictures.ts'
import { checkRecipients } from './recipient.ts'
import { playVideos } from './videos.ts'
import { offerWallets } from './wallets.ts'

if (page) {
  enhanceActions()
  checkRecipients()
  offerWallets()
  countDown()
  giveRoomBack()
  ageTap()
  playVideos()
  watchPictures()
  keepLive()
}
