/** Styles of the component. Pages can override them with custom properties and `::part`. */
export const styles = `
:host {
  display: block;
  --_accent: var(--assay-accent, light-dark(#0b57d0, #a8c7fa));
  --_accent-text: var(--assay-accent-text, light-dark(#fff, #062e6f));
  --_danger: var(--assay-danger, light-dark(#b3261e, #ffb4ab));
  --_success: var(--assay-success, light-dark(#146c2e, #80da9b));
  --_border: var(--assay-border, color-mix(in srgb, currentColor 45%, transparent));
  --_radius: var(--assay-radius, 8px);
  --_space: var(--assay-space, 12px);
  color: var(--assay-text, inherit);
  font: var(--assay-font, inherit);
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
p, ul { margin: 0; padding: 0; }
ul { list-style: none; }
[part~=dropzone] {
  padding: calc(var(--_space) * 2) var(--_space);
  border: 2px dashed var(--_border);
  border-radius: var(--_radius);
  background: var(--assay-background, transparent);
  text-align: center;
}
[part~=dropzone][data-over] { border-color: var(--_accent); border-style: solid; }
[part~=buttons], [part~=actions] { display: flex; flex-wrap: wrap; gap: calc(var(--_space) / 2); }
[part~=buttons] { justify-content: center; margin: var(--_space) 0; }
[part~=button] {
  min-height: 44px;
  padding: 0 16px;
  border: 1px solid var(--_border);
  border-radius: var(--_radius);
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}
[part~=choose] { border-color: var(--_accent); background: var(--_accent); color: var(--_accent-text); }
[part~=button]:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; }
[part~=message] { margin: var(--_space) 0; }
[part~=message]:empty { display: none; }
[part~=file] {
  display: grid;
  gap: calc(var(--_space) / 2);
  margin-top: var(--_space);
  padding: var(--_space);
  border: 1px solid var(--_border);
  border-radius: var(--_radius);
}
[part~=name] { overflow-wrap: anywhere; }
[part~=progress] { width: 100%; accent-color: var(--_accent); }
[part~=accepted] > [part~=status], [part~=passed] > [part~=symbol] { color: var(--_success); }
[part~=rejected] > [part~=status], [part~=failed] > [part~=status], [part~=failed] > [part~=symbol] { color: var(--_danger); }
[part~=actions]:empty { display: none; }
[part~=live] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`
