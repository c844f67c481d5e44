# bash completion of better-compute, made by `better-compute generate completions`; do not edit.
# A colon belongs to a word here (api:surface).
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
_better_compute() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path=better-compute words= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${COMP_WORDS[i]}" in \
            'better-compute serve' | \
            'better-compute migrate' | \
            'better-compute doctor' | \
            'better-compute config' | \
            'better-compute api' | \
            'better-compute agent' | \
            'better-compute fleet' | \
            'better-compute fleet export' | \
            'better-compute fleet plan' | \
            'better-compute fleet apply' | \
            'better-compute webhooks' | \
            'better-compute webhooks list' | \
            'better-compute webhooks deliveries' | \
            'better-compute webhooks redeliver' | \
            'better-compute webhooks jobs' | \
            'better-compute webhooks explain' | \
            'better-compute webhooks proof' | \
            'better-compute webhooks check' | \
            'better-compute webhooks verify' | \
            'better-compute iam' | \
            'better-compute iam apply' | \
            'better-compute iam export' | \
            'better-compute iam tokens' | \
            'better-compute iam tokens create' | \
            'better-compute iam tokens list' | \
            'better-compute iam tokens revoke' | \
            'better-compute iam confirmations' | \
            'better-compute iam confirmations list' | \
            'better-compute iam confirmations approve' | \
            'better-compute iam confirmations deny' | \
            'better-compute iam disable' | \
            'better-compute iam enable' | \
            'better-compute iam explain' | \
            'better-compute audit' | \
            'better-compute audit list' | \
            'better-compute audit verify' | \
            'better-compute audit prove' | \
            'better-compute audit verify-proof' | \
            'better-compute audit seal' | \
            'better-compute audit key' | \
            'better-compute secrets' | \
            'better-compute secrets rotate' | \
            'better-compute backup' | \
            'better-compute api:surface' | \
            'better-compute completion' | \
            'better-compute version')
                path="$path ${COMP_WORDS[i]}" ;;
        esac
    done
    case $previous in
        --body | --ca-file | --check | --config | --credential-file | --data | --headers | --ready-file | --record | --scope | --secret-file | --simulate | --tls-cert | --tls-key | --token-file)
            COMPREPLY=($(compgen -f -- "$current"))
            return ;;
    esac
    case $path in
        'better-compute') words='serve migrate doctor config api agent fleet webhooks iam audit secrets backup api:surface completion version --help' ;;
        'better-compute serve') words='--help --config --database --quiet --listen --roles --tls-cert --tls-key --behind-proxy --ready-file --migrate' ;;
        'better-compute migrate') words='up status verify --help --config --database --json --quiet --dry-run' ;;
        'better-compute doctor') words='--help --config --database --json --quiet --strict --deep --check' ;;
        'better-compute config') words='show check --help --config --database --json --quiet' ;;
        'better-compute api') words='--help --config --database --json --quiet --data --url --query --format --list' ;;
        'better-compute agent') words='--help --config --database --quiet --url --token-file --credential-file --data --name --fake-gpus --simulate --ca-file' ;;
        'better-compute fleet') words='export plan apply --help' ;;
        'better-compute fleet export') words='--help --config --database --json --quiet --tenant --url' ;;
        'better-compute fleet plan') words='--help --config --database --json --quiet --prune --url --exit-code' ;;
        'better-compute fleet apply') words='--help --config --database --json --quiet --prune --url --expected-plan-hash --yes' ;;
        'better-compute webhooks') words='list deliveries redeliver jobs explain proof check verify --help' ;;
        'better-compute webhooks list') words='--help --config --database --json --quiet --tenant --url' ;;
        'better-compute webhooks deliveries') words='--help --config --database --json --quiet --tenant --webhook --state --limit --cursor --url' ;;
        'better-compute webhooks redeliver') words='--help --config --database --json --quiet --tenant --all-tenants --webhook --state --type --since --until --limit --rate --dry-run --yes --url' ;;
        'better-compute webhooks jobs') words='list show resume cancel --help --config --database --json --quiet --rate' ;;
        'better-compute webhooks explain') words='--help --config --database --json --quiet' ;;
        'better-compute webhooks proof') words='--help --config --database --json --quiet --since --tenant' ;;
        'better-compute webhooks check') words='--help --config --database --json --quiet' ;;
        'better-compute webhooks verify') words='--help --json --quiet --secret-file --headers --body --tolerance' ;;
        'better-compute iam') words='apply export tokens confirmations disable enable explain --help' ;;
        'better-compute iam apply') words='--help --config --database --json --quiet --dry-run --prune' ;;
        'better-compute iam export') words='--help --config --database --json --quiet' ;;
        'better-compute iam tokens') words='create list revoke --help' ;;
        'better-compute iam tokens create') words='--help --config --database --json --quiet --tenant --identity --delegation --expires --scope' ;;
        'better-compute iam tokens list') words='--help --config --database --json --quiet --tenant --identity' ;;
        'better-compute iam tokens revoke') words='--help --config --database --json --quiet' ;;
        'better-compute iam confirmations') words='list approve deny --help' ;;
        'better-compute iam confirmations list') words='--help --config --database --json --quiet --tenant --state' ;;
        'better-compute iam confirmations approve') words='--help --config --database --json --quiet' ;;
        'better-compute iam confirmations deny') words='--help --config --database --json --quiet' ;;
        'better-compute iam disable') words='tenant identity --help --config --database --json --quiet' ;;
        'better-compute iam enable') words='tenant identity --help --config --database --json --quiet' ;;
        'better-compute iam explain') words='--help --config --database --json --quiet --token-file --tenant' ;;
        'better-compute audit') words='list verify prove verify-proof seal key --help' ;;
        'better-compute audit list') words='--help --config --database --json --quiet --tenant --since --actor --action --request --limit' ;;
        'better-compute audit verify') words='--help --config --database --json --quiet --tenant --since --anchor --key' ;;
        'better-compute audit prove') words='--help --config --database --quiet' ;;
        'better-compute audit verify-proof') words='--help --json --quiet --key' ;;
        'better-compute audit seal') words='--help --config --database --json --quiet' ;;
        'better-compute audit key') words='--help --config --database --json --quiet --replace' ;;
        'better-compute secrets') words='rotate --help' ;;
        'better-compute secrets rotate') words='--help --config --database --json --quiet --dry-run' ;;
        'better-compute backup') words='--help --config --database --json --quiet' ;;
        'better-compute api:surface') words='--help --json --quiet --format --check --record --allow-breaking' ;;
        'better-compute completion') words='bash zsh fish --help' ;;
        'better-compute version') words='--help --json --quiet' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ ${#COMPREPLY[@]} -gt 0 || $current == -* ]] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _better_compute better-compute
