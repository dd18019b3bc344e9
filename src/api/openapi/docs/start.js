// A file and not a script in the page: the page's content security policy allows no inline script.
window.SwaggerUIBundle({
  url: 'api/v1/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  filter: true,
  // A key that was typed in is gone with the tab.
  persistAuthorization: false,
  presets: [window.SwaggerUIBundle.presets.apis],
})
