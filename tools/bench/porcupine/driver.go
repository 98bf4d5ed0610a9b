// Judges one history by Porcupine, for tools/bench/porcupine/compare: a register with compare-and-set, or a mutex.
//
// A line of the file is an operation: f, process, call, return (-1: of unknown outcome), value, expected value; a
// value of - is nil. The last line of output: verdict, seconds of judging, peak memory of this process in MB.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type input struct {
	f, value, expected, process string
	unknown                     bool
}

// An operation of unknown outcome may do nothing: its return is after all others, and a step is always legal.
var register = porcupine.Model{
	Init: func() interface{} { return "-" },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		each := in.(input)
		switch each.f {
		case "read":
			return each.value == state.(string), state
		case "write":
			return true, each.value
		}
		if each.expected == state.(string) {
			return true, each.value
		}
		return each.unknown, state
	},
}

var mutex = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		each := in.(input)
		if each.f == "acquire" && state.(string) == "" {
			return true, each.process
		}
		if each.f == "release" && state.(string) == each.process {
			return true, ""
		}
		return each.unknown, state
	},
}

func main() {
	file, err := os.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	limit, err := time.ParseDuration(os.Args[3])
	if err != nil {
		panic(err)
	}
	model := register
	if os.Args[1] == "mutex" {
		model = mutex
	}
	var history []porcupine.Operation
	latest := int64(0)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		part := strings.Fields(lines.Text())
		client, _ := strconv.Atoi(part[1])
		call, _ := strconv.ParseInt(part[2], 10, 64)
		end, _ := strconv.ParseInt(part[3], 10, 64)
		each := input{f: part[0], value: part[4], expected: part[5], process: part[1], unknown: end < 0}
		if call > latest {
			latest = call
		}
		if end > latest {
			latest = end
		}
		history = append(history, porcupine.Operation{ClientId: client, Input: each, Call: call, Return: end})
	}
	for i := range history {
		if history[i].Return < 0 {
			latest++
			history[i].Return = latest
		}
	}
	begin := time.Now()
	result := porcupine.CheckOperationsTimeout(model, history, limit)
	verdict := map[porcupine.CheckResult]string{porcupine.Ok: "holds", porcupine.Illegal: "violated"}[result]
	if verdict == "" {
		verdict = "-"
	}
	fmt.Printf("%s %.6f %.1f\n", verdict, time.Since(begin).Seconds(), peakMB())
}

func peakMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			kilobytes, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return kilobytes / 1024
		}
	}
	return 0
}
