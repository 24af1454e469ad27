#!/usr/bin/env bash
# What the GitHub action runs: an audit, its report in brief as the summary of the job, and where the report is.
# Everything comes in variables, one word a line where there may be several, so that nothing in them is run.
set -euo pipefail

report=${INPUT_REPORT:-arkaudit-report}
# A folder whose name begins with a hyphen is no option.
[[ $report != -* ]] || report=./$report
options=("--store=${INPUT_STORE:-audit.db}" "--out=$report" --format=html --format=csv --format=md)
[ -z "${INPUT_CONFIG:-}" ] || options+=("--config=$INPUT_CONFIG")
[ -z "${INPUT_AUDIT:-}" ] || options+=("--audit=$INPUT_AUDIT")
[ -z "${INPUT_CONTACT:-}" ] || options+=("--contact=$INPUT_CONTACT")
[ -z "${INPUT_KNOWN:-}" ] || options+=("--known=$INPUT_KNOWN")
[ -z "${INPUT_ISSUE:-}" ] || options+=("--issue=$INPUT_ISSUE")
while IFS= read -r token; do
    [ -z "$token" ] || options+=("--fail-on=$token")
done <<<"${INPUT_FAIL_ON:-}"
seeds=()
files=()
while IFS= read -r seed; do
    [ -z "$seed" ] || seeds+=("$seed")
    [ -z "$seed" ] || [ ! -e "$seed" ] || files+=("$seed")
done <<<"${INPUT_SEEDS:-}"

# An older report is not the report of this run.
started=$(mktemp)
code=0
arkaudit run "${options[@]}" -- ${seeds[@]+"${seeds[@]}"} || code=$?
# A file without a correction is no failure of the audit.
if [ -n "${INPUT_PATCH:-}" ] && [ ${#files[@]} -gt 0 ]; then
    arkaudit fix "--store=${INPUT_STORE:-audit.db}" "--patch=$INPUT_PATCH" -- "${files[@]}" || true
fi
if [ "$report/report.md" -nt "$started" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$report/report.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    [ ! "$report/report.md" -nt "$started" ] || printf 'report=%s\n' "${report//[$'\n\r']/ }" >>"$GITHUB_OUTPUT"
    printf 'exit-code=%s\n' "$code" >>"$GITHUB_OUTPUT"
fi
exit "$code"
