package completion

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

const completionLong = `completion prints a script that has the shell complete commands, flags, and names of
objects. The names are asked of the server that RUEIDISSON_REDIS or --redis says, by a
SCAN that ends after half a second or 20,000 keys. A server that does not answer is
passed over.

  bash   rueidisson completion bash > /etc/bash_completion.d/rueidisson
  zsh    rueidisson completion zsh > "${fpath[1]}/_rueidisson"
  fish   rueidisson completion fish > ~/.config/fish/completions/rueidisson.fish

For this session alone: source <(rueidisson completion bash). The script of bash needs
the package bash-completion.`

// shells are those that have a script.
var shells = []string{"bash", "zsh", "fish"}

// Command returns the command that prints the script of a shell.
func Command(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print a script that completes commands, flags and names in a shell",
		Long:      completionLong,
		Example:   "  source <(rueidisson completion bash)",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return exit.Usagef("one of %s is needed", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(t.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(t.Stdout)
			default:
				return root.GenFishCompletion(t.Stdout, true)
			}
		},
	}
}

// Bounds of a look for names. A shell waits for it with each TAB.
const (
	namesWithin = 500 * time.Millisecond
	namesBatch  = 1000
	namesScans  = 20 // batches
	namesMost   = 200
)

// named says which keys are names of the objects of a command. Its words are the longest ones that match.
type named struct {
	types   []string // of the keys; none: all
	jobs    bool     // names of reliable queues, whose keys have other names
	nothing bool     // the first argument is no name of a key
}

// namedBy are the commands whose first argument is a name.
var namedBy = map[string]named{
	"lock":          {types: []string{"hash"}},
	"elect":         {types: []string{"hash"}},
	"observe":       {types: []string{"hash"}},
	"force-unlock":  {types: []string{"hash"}},
	"inspect":       {},
	"election":      {types: []string{"hash"}},
	"multimap":      {types: []string{"hash"}},
	"election ls":   {nothing: true},
	"multimap ls":   {nothing: true},
	"sem ls":        {nothing: true},
	"permit ls":     {nothing: true},
	"latch ls":      {nothing: true},
	"barrier ls":    {nothing: true},
	"stream ls":     {nothing: true},
	"limit":         {types: []string{"string", "hash"}},
	"limit ls":      {nothing: true},
	"sem":           {types: []string{"string"}},
	"permit":        {types: []string{"string"}},
	"latch":         {types: []string{"string"}},
	"barrier":       {types: []string{"hash"}},
	"map":           {types: []string{"hash"}},
	"queue":         {types: []string{"list", "zset"}},
	"stream":        {types: []string{"stream"}},
	"topic":         {types: []string{"stream"}}, // reliable ones: of others nothing is stored
	"topic publish": {nothing: true},
	"topic listen":  {nothing: true},
	"job":           {jobs: true},
	"job queues":    {nothing: true},
	"counter":       {types: []string{"string"}},
	"id":            {types: []string{"string"}},
	"bloom":         {types: []string{"string"}},
	"set":           {types: []string{"set", "zset"}},
	"zset":          {types: []string{"zset"}},
	"keys":          {},
	"version":       {nothing: true},
	"completion":    {nothing: true},
	"man":           {nothing: true},
}

// namesFor returns the names that a command is about.
func namesFor(cmd *cobra.Command) (of named, known bool) {
	words := strings.Fields(cmd.CommandPath())[1:]
	for n := len(words); n > 0; n-- {
		if of, known = namedBy[strings.Join(words[:n], " ")]; known {
			return of, !of.nothing
		}
	}
	return of, false
}

// Register has the shell complete names of objects, and values of flags, below cmd.
func Register(t *tool.Tool, cmd *cobra.Command) {
	if !cmd.HasSubCommands() && len(cmd.ValidArgs) == 0 {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			return completeArg(t, cmd, args, start)
		}
	}
	files := map[string]bool{}
	for _, f := range t.FileFlags() {
		files[f.Name] = true
	}
	register := func(f *pflag.Flag) {
		switch values, is := valuesOfFlags[f.Name]; {
		case is:
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		case !files[f.Name] || !cmd.HasSubCommands(): // --key of limit is no file
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	for _, sub := range cmd.Commands() {
		Register(t, sub)
	}
}

// valuesOfFlags are the values of flags that have few.
var valuesOfFlags = map[string][]string{
	"as":    {"int", "float", "bool", "json", "base64"},
	"codec": {"text", "bytes", "json", "msgpack", "kryo5", "jackson", "jackson-msgpack"},
	"state": {"ready", "due", "behind", "leased", "dead"},
	"type":  {"string", "list", "set", "zset", "hash", "stream"},
}

// completeArg completes a name. After the name it completes the files that a CMD may be given.
func completeArg(t *tool.Tool, cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	of, known := namesFor(cmd)
	switch {
	case len(args) > 0 && strings.Contains(cmd.Use, " -- "):
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) > 0 && !strings.Contains(cmd.Use, "NAME..."), !known:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), namesWithin)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- findNames(ctx, t, of, start) }() // ends soon after ctx, or with the process
	select {
	case names := <-found:
		return names, cobra.ShellCompDirectiveNoFileComp
	case <-ctx.Done():
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// jobsKey begins the keys that tell of reliable queues.
const jobsKey = "rueidisson_queue_meta:"

// findNames returns names on the server that begin with start, none if it does not answer.
func findNames(ctx context.Context, t *tool.Tool, of named, start string) []string {
	option, err := t.Option()
	if err != nil {
		return nil
	}
	option.Dialer.Timeout, option.DisableCache, option.DisableRetry = namesWithin, true, true
	client, err := rueidis.NewClient(option)
	if err != nil {
		return nil
	}
	defer client.Close()
	servers, err := masters(ctx, client)
	if err != nil {
		return nil
	}
	var names []string
	for _, node := range servers {
		types := of.types
		if len(types) == 0 {
			types = []string{""}
		}
		for _, is := range types {
			names = append(names, scanNames(ctx, node, of.jobs, is, start, namesScans/len(servers)/len(types))...)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), namesMost)]
}

// masters returns the servers that have keys of their own.
func masters(ctx context.Context, client rueidis.Client) (all []rueidis.Client, err error) {
	nodes := client.Nodes()
	for _, node := range nodes {
		if len(nodes) == 1 {
			return []rueidis.Client{node}, nil
		}
		role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
		if err != nil {
			return nil, err
		}
		if is, _ := role[0].ToString(); is == "master" {
			all = append(all, node)
		}
	}
	return all, nil
}

// scanNames does not wait for servers that are away, nor for slots that move, as a walk through all keys does: it has a moment.
// It asks one server, at least once and for scans batches at most. What it has heard before an error counts.
func scanNames(ctx context.Context, node rueidis.Client, jobs bool, is, start string, scans int) (names []string) {
	pattern := globEscape.Replace(start) + "*"
	if jobs {
		pattern = jobsKey + "*"
	}
	for cursor := uint64(0); len(names) < namesMost; {
		command := node.B().Scan().Cursor(cursor).Match(pattern).Count(namesBatch).Build()
		if is != "" {
			command = node.B().Scan().Cursor(cursor).Match(pattern).Count(namesBatch).Type(is).Build()
		}
		page, err := node.Do(ctx, command).AsScanEntry()
		if err != nil {
			return names
		}
		for _, key := range page.Elements {
			name, own := shownName(key, jobs, is == "" || is == "string")
			if own && strings.HasPrefix(name, start) {
				names = append(names, name)
			}
		}
		cursor = page.Cursor
		if scans--; cursor == 0 || scans <= 0 {
			break
		}
	}
	return names
}

// globEscape has SCAN take a text as it is.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// shownName returns the name of the object that a key belongs to, and whether to offer the name. It does not offer keys
// that objects have in addition to their names, and no names that a shell cannot complete. A bucket of a limiter is looked
// for in strings alone.
func shownName(key string, jobs, strs bool) (name string, own bool) {
	if jobs {
		name = strings.TrimPrefix(key, jobsKey)
		if inner, braces := strings.CutPrefix(name, "{"); braces {
			name = strings.TrimSuffix(inner, "}")
		}
	} else {
		name = key
		for _, prefix := range []string{"redisson_", "rueidisson_", "{"} {
			if strings.HasPrefix(key, prefix) {
				return "", false
			}
		}
		if strs && strings.Contains(key, ":{") && strings.HasSuffix(key, "}") { // the bucket of a key of a limiter
			return "", false
		}
	}
	shown := name != "" && values.Printable(name) == name && strings.IndexFunc(name, unicode.IsSpace) < 0 &&
		!strings.ContainsAny(name, shellActs) && !strings.ContainsRune("-~#", rune(name[0]))
	return name, shown
}

// shellActs has what a shell acts upon. It may put a part that several names share into the line as it is, and the
// script of the completion has the shell evaluate that line with the next TAB.
const shellActs = "$`\"'\\();&|<>!"
