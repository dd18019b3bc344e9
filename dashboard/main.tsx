import { render } from 'preact'
import { App } from './app.js'
import { interceptLinkClicks } from './router.js'
import { startSession } from './session.js'
import { applyTheme } from './theme.js'

applyTheme()
interceptLinkClicks()
void startSession()
render(<App />, document.getElementById('app')!)
