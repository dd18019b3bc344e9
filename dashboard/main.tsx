import { render } from 'preact'
import { App } from './app.js'
import { listenForFileDrops } from './file-drop.js'
import { interceptLinkClicks, path } from './router.js'
import { startSession } from './session.js'
import { applyTheme } from './theme.js'
import { preloadView } from './views.js'

applyTheme()
interceptLinkClicks()
listenForFileDrops()
void startSession()
preloadView(path.value)
render(<App />, document.getElementById('app')!)
