import { render } from 'preact'
import { App } from './app.js'
import { followLinks } from './router.js'
import { beginSession } from './session.js'
import { applyTheme } from './theme.js'

applyTheme()
followLinks()
void beginSession()
render(<App />, document.getElementById('app')!)
