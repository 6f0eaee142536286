package main

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/wrap"
)

// metrics are the program's, under the names that dashboards of the kubelet know where there is one. Only how full
// volumes are is said of single claims.
type metrics struct {
	registry   *prometheus.Registry
	calls      *prometheus.HistogramVec // of CSI
	operations *prometheus.HistogramVec
	measures   *prometheus.HistogramVec // of how full volumes are
}

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	buckets := []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600}
	m.calls = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "csi_operations_seconds", Help: "CSI calls to drivers, by result.", Buckets: buckets,
	}, []string{"driver_name", "method_name", "grpc_status_code", "migrated"})
	m.operations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "storage_operation_duration_seconds", Help: "Operations on volumes, by result.", Buckets: buckets,
	}, []string{"volume_plugin", "operation_name", "status", "migrated"})
	m.measures = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kubelet_volume_metric_collection_duration_seconds",
		Help: "Questions to how full a volume is, by whom they ask.",
	}, []string{"metric_source"})
	b := buildOf()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "volnode_build_info", Help: "1, with the build information of this volnode.",
		ConstLabels: prometheus.Labels{
			"version": b.version, "commit": b.commit, "go_version": b.goVersion,
			"csi_version": b.csi,
		},
	})
	info.Set(1)
	m.registry.MustRegister(m.calls, m.operations, m.measures, info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// wrap returns h with the time of each call taken.
func (m *metrics) wrap(h hal.Host) hal.Host {
	runtime := h.Runtime
	return wrap.Host(h, func(s wrap.Site, c hal.Call, do func() error) error {
		start := runtime.Now()
		err := do()
		if method, ok := csiMethods[s.Name]; ok {
			driver, _, _ := strings.Cut(s.Object, " ")
			m.calls.WithLabelValues(driver, method, statusOf(err), "false").Observe(runtime.Now().Sub(start).Seconds())
		}
		switch driver, _, _ := strings.Cut(s.Object, " "); s.Name {
		case "NodeGetVolumeStats":
			m.measures.WithLabelValues(driver).Observe(runtime.Now().Sub(start).Seconds())
		case "host usage":
			m.measures.WithLabelValues("statfs").Observe(runtime.Now().Sub(start).Seconds())
		}
		return err
	})
}

// csiMethods are the full names of the calls that go to CSI drivers, as the kubelet's metric has them.
var csiMethods = map[string]string{
	"GetPluginInfo":         "/csi.v1.Identity/GetPluginInfo",
	"GetPluginCapabilities": "/csi.v1.Identity/GetPluginCapabilities",
	"Probe":                 "/csi.v1.Identity/Probe",
	"NodeGetInfo":           "/csi.v1.Node/NodeGetInfo",
	"NodeGetCapabilities":   "/csi.v1.Node/NodeGetCapabilities",
	"NodeStageVolume":       "/csi.v1.Node/NodeStageVolume",
	"NodeUnstageVolume":     "/csi.v1.Node/NodeUnstageVolume",
	"NodePublishVolume":     "/csi.v1.Node/NodePublishVolume",
	"NodeUnpublishVolume":   "/csi.v1.Node/NodeUnpublishVolume",
	"NodeGetVolumeStats":    "/csi.v1.Node/NodeGetVolumeStats",
}

// ended takes in an operation that changes the node. The turns of a deletion count once.
func (m *metrics) ended(e *engine.OperationEnded) {
	if e.Verb == core.Inspect || e.Continues {
		return
	}
	status := "success"
	if e.Outcome != hal.Done {
		status = "fail-" + strings.ReplaceAll(e.Outcome.String(), " ", "-")
	}
	name, isDevice := volumeSources.Plugin(e.Kind)
	m.operations.WithLabelValues(name, operationName(e.Verb, isDevice), status, "false").Observe(e.Took.Seconds())
}

// operationName is the kubelet's name of what a verb does.
func operationName(v core.Verb, isDevice bool) string {
	switch {
	case v == core.TearDown && isDevice:
		return "unmount_device"
	case v == core.TearDown:
		return "volume_unmount"
	case isDevice:
		return "mount_device"
	default:
		return "volume_mount"
	}
}

// statusOf is the gRPC status that a call ended with.
func statusOf(err error) string {
	if err == nil {
		return "OK"
	}
	e, ok := asHALError(err)
	switch {
	case !ok:
		return "UNKNOWN"
	case e.Reply == hal.ReplyStatus:
		return e.Code.String()
	case e.Reply == hal.ReplyNever:
		return "NOT_SENT"
	default:
		return "NO_REPLY"
	}
}

// stateTimeout bounds how long a scrape waits for the engine's owner.
const stateTimeout = 2 * time.Second

// stateCollector makes metrics of the engine's status at each scrape.
type stateCollector struct {
	status func(context.Context) (engine.Status, error)
}

var (
	volumesDesc = prometheus.NewDesc("volume_manager_total_volumes", "Volumes of pods, desired and actual.",
		[]string{"plugin_name", "state"}, nil)
	stateDesc     = prometheus.NewDesc("volnode_volume_state", "Volumes of pods by state.", []string{"state"}, nil)
	uncertainDesc = prometheus.NewDesc("volnode_uncertain_volumes",
		"Volumes on which a call may still act: the driver did not answer it, or its answer did not end it.", nil,
		nil)
	stuckDesc = prometheus.NewDesc("volnode_oldest_stuck_seconds",
		"Age of the oldest overdue operation; 0 if there is none.", nil, nil)
	recordsDesc    = prometheus.NewDesc("volnode_journal_records", "Rungs with a record in the journal.", nil, nil)
	registeredDesc = prometheus.NewDesc("volnode_driver_registered",
		"1 if the driver is registered.", []string{"driver_name"}, nil)
	connectedDesc = prometheus.NewDesc("volnode_driver_connected", "1 if volnode is connected to the driver.",
		[]string{"driver_name"}, nil)
	answerDesc = prometheus.NewDesc("volnode_driver_last_answer_seconds",
		"Time since the driver's last answer to any call.", []string{"driver_name"}, nil)
	waitingDesc = prometheus.NewDesc("volnode_driver_waiting_endpoints",
		"Further endpoints that registered the driver's name and wait.",
		[]string{"driver_name"}, nil)
	storageDesc = prometheus.NewDesc("volnode_driver_storage_abnormal",
		"1 if the driver says that something is wrong with the storage behind it.", []string{"driver_name"}, nil)
	actsDesc = prometheus.NewDesc("volnode_driver_acts_after_reply",
		"1 for each CSI driver that acts after it answers, as seen or as configured: no error of it ends a call.",
		[]string{"driver_name"}, nil)
	defectsDesc = prometheus.NewDesc("volnode_defects_total",
		"Defects of its own that volnode has found since it started; the log has each of them.", nil, nil)
	bytesDesc = prometheus.NewDesc("volnode_journal_bytes", "Bytes used in the journal's file.", nil, nil)
)

var troublesDesc = prometheus.NewDesc("volnode_source_troubles",
	"Bad manifests, pods whose teardown waits for them, and missing manifests that nobody has accepted.",
	[]string{"kind"}, nil)

// usageDescs are the kubelet's, one series for each claim.
var usageDescs = func() (all [6]*prometheus.Desc) {
	for i, of := range [6][2]string{
		{"capacity_bytes", "Size of the volume in bytes."},
		{"available_bytes", "Bytes of the volume that are free."},
		{"used_bytes", "Bytes of the volume that are in use."},
		{"inodes", "Inodes of the volume."},
		{"inodes_free", "Inodes of the volume that are free."},
		{"inodes_used", "Inodes of the volume that are in use."},
	} {
		all[i] = prometheus.NewDesc("kubelet_volume_stats_"+of[0], of[1], []string{"namespace", "persistentvolumeclaim"}, nil)
	}
	return all
}()

var healthDesc = prometheus.NewDesc("kubelet_volume_stats_health_status_abnormal",
	"1 if the driver says that something is wrong with the volume.", []string{"namespace", "persistentvolumeclaim"}, nil)

// healths sends whether something is wrong with the volumes of claims.
func healths(s engine.Status, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	isSaid := map[string]bool{}
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			if v.Health == nil || v.Health.Why != "" || v.Claim == "" || isSaid[v.Claim] {
				continue
			}
			isSaid[v.Claim] = true
			namespace, claim, _ := strings.Cut(v.Claim, "/")
			gauge(healthDesc, float64(min(len(v.Health.Problems), 1)), namespace, claim)
		}
	}
}

// usages sends how full the volumes of claims are. Pods that share a claim have the same to say of it.
func usages(s engine.Status, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	isSaid := map[string]bool{}
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			if v.Usage == nil || v.Claim == "" || isSaid[v.Claim] {
				continue
			}
			namespace, claim, _ := strings.Cut(v.Claim, "/")
			for i, of := range []*engine.Amount{v.Usage.Bytes, v.Usage.Inodes} {
				if of == nil {
					continue
				}
				isSaid[v.Claim] = true
				for j, n := range []int64{of.Total, of.Available, of.Used} {
					gauge(usageDescs[3*i+j], float64(n), namespace, claim)
				}
			}
		}
	}
}

// Describe implements prometheus.Collector.
func (stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		volumesDesc, stateDesc, uncertainDesc, stuckDesc, recordsDesc, bytesDesc, registeredDesc, connectedDesc,
		answerDesc, waitingDesc, storageDesc, troublesDesc, actsDesc, defectsDesc,
	} {
		ch <- d
	}
	for _, d := range append(usageDescs[:], healthDesc) {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
	defer cancel()
	s, err := c.status(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(stateDesc, err)
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counts := count(s)
	for at, n := range counts.volumes {
		gauge(volumesDesc, float64(n), at.plugin, at.state)
	}
	for _, state := range allConditions {
		gauge(stateDesc, float64(counts.states[state]), string(state))
	}
	gauge(uncertainDesc, float64(len(counts.uncertain)))
	gauge(stuckDesc, counts.oldestStuck.Seconds())
	gauge(recordsDesc, float64(s.Journal.Records))
	gauge(bytesDesc, float64(s.Journal.Bytes))
	ch <- prometheus.MustNewConstMetric(defectsDesc, prometheus.CounterValue, float64(s.Defects))
	bad, held, missing := troublesOf(s)
	gauge(troublesDesc, float64(bad), "bad")
	gauge(troublesDesc, float64(held), "held")
	gauge(troublesDesc, float64(missing), "missing")
	usages(s, gauge)
	healths(s, gauge)
	for _, name := range driverNames(s.Drivers) {
		d, waiting := driverNamed(s.Drivers, name)
		gauge(registeredDesc, asNumber(d.Registered), name)
		gauge(connectedDesc, asNumber(d.Connected), name)
		gauge(waitingDesc, float64(waiting), name)
		if d.Storage != nil && d.Storage.Why == "" {
			gauge(storageDesc, float64(min(len(d.Storage.Problems), 1)), name)
		}
		if d.ActsAfterReply {
			gauge(actsDesc, 1, name)
		}
		if d.LastAnswer != "" {
			gauge(answerDesc, d.LastAnswerAge.Seconds(), name)
		}
	}
}

func asNumber(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// sinkCollector counts what the sinks have lost.
type sinkCollector struct{ sinks sinks }

var lostDesc = prometheus.NewDesc("volnode_lines_dropped_total",
	"Lines lost because a sink (log, trace, service manager) was too slow or failed.", []string{"sink"}, nil)

// Describe implements prometheus.Collector.
func (sinkCollector) Describe(ch chan<- *prometheus.Desc) { ch <- lostDesc }

// Collect implements prometheus.Collector.
func (c sinkCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.sinks {
		is := s.state()
		ch <- prometheus.MustNewConstMetric(lostDesc, prometheus.CounterValue, float64(is.Lost), is.Name)
	}
}
