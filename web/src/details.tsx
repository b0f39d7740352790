// SPDX-License-Identifier: MIT
// details: what the pointer or the keyboard is on, in one line that is always in the same place.
import { useStore } from './store';
import { shown } from './text';

export function Details() {
  const detail = useStore((s) => s.detail);
  return (
    <section class="details" aria-label="Details">
      {detail ? (
        <>
          <span class="details-name">{shown(detail.name)}</span>
          {detail.file !== null && (
            <span class="details-file">{shown(detail.file)}{detail.line > 0 ? `:${detail.line}` : ''}</span>
          )}
          <dl>
            {detail.rows.map(([label, value]) => (
              <div key={label}>
                <dt>{shown(label)}</dt>
                <dd>{shown(value)}</dd>
              </div>
            ))}
          </dl>
        </>
      ) : (
        <span class="details-hint">Point at something, or walk with Tab and the arrows; <kbd>?</kbd> lists all keys.</span>
      )}
    </section>
  );
}
