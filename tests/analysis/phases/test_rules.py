"""Which rule a name matches, what it says, batch indices in names, and rules of the user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from analysis.datafile import load_toml
from analysis.errors import UsageError
from analysis.phases.model import PHASES
from analysis.phases.results import STAGES
from analysis.phases.rules import (
    STAGE_TRAIN,
    STRENGTHS,
    WAITS,
    Rule,
    Rules,
    batch_indices,
    load_rules,
    with_index_marks,
)

if TYPE_CHECKING:
    from pathlib import Path

PRE, LOOK, FWD, BWD, EUPD, DUPD = PHASES
NODE = "autograd::engine::evaluate_function: "


def found(name: str, rules: Rules | None = None) -> Rule | None:
    """The rule that a name matches."""
    rules = rules or load_rules()
    place = int(rules.matches(pl.Series([name], dtype=pl.String))[0])
    return rules.entries[place] if place >= 0 else None


def told(name: str) -> tuple[str | None, str, str]:
    """Phase, wait and strength of a name."""
    rule = found(name)
    assert rule is not None, name
    return rule.phase, rule.wait, rule.strength


# --------------------------------------------------------------------- the table of facts/phases.md

ANCHORED_NAMES = [
    # PyTorch
    ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", PRE, "no"),
    ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", PRE, "if_long"),
    ("DistributedDataParallel.forward", FWD, "no"),
    (NODE + "AddmmBackward0", BWD, "no"),
    (NODE + "torch::jit::(anonymous namespace)::DifferentiableGraphBackward", BWD, "no"),
    ("AddmmBackward0", BWD, "no"),
    ("torch::autograd::AccumulateGrad", BWD, "no"),
    ("torch.distributed.ddp.reducer::copy_bucket_to_grad", BWD, "no"),
    ("torch::distributed::reducer::mul_out", BWD, "no"),
    ("Optimizer.step#Adam.step", DUPD, "no"),
    ("Optimizer.step#EMAOptimizer.step", DUPD, "no"),
    ("Optimizer.step#SparseAdam.step", EUPD, "no"),
    ("Optimizer.step#RowWiseAdagrad.step", EUPD, "no"),
    ("Optimizer.zero_grad#Adam.zero_grad", DUPD, "no"),
    ("EmbeddingBackward0", BWD, "no"),
    (NODE + "EmbeddingBackward0", BWD, "no"),
    # torchrec, every pipeline
    ("## zero_grad ##", DUPD, "no"),
    ("## zero_grad 20 ##", DUPD, "no"),
    ("## copy_batch_to_gpu 23 ##", PRE, "no"),
    ("## copy_batch_to_gpu ##", PRE, "no"),
    ("## inplace_copy_batch_to_gpu 23 ##", PRE, "no"),
    ("## next_batch ##", PRE, "no"),
    ("## load batch 5 from dataloader (host) ##", PRE, "no"),
    ("## load_batch ##", PRE, "no"),
    ("## data_load ##", PRE, "no"),
    ("## wait_for_batch 21 ##", PRE, "yes"),
    ("## forward 21 ##", FWD, "no"),
    ("## forward ##", FWD, "no"),
    ("## backward 21 ##", BWD, "no"),
    ("## backward ##", BWD, "no"),
    ("## optimizer 20 ##", DUPD, "no"),
    ("## optimizer ##", DUPD, "no"),
    # torchrec, ids and lookups
    ("## start_sparse_data_dist 22 ##", LOOK, "no"),
    ("## wait_sparse_data_dist 22 ##", LOOK, "yes"),
    ("## sparse_data_dist ##", LOOK, "no"),
    ("## sdd_preprocess_splits ##", LOOK, "no"),
    ("## sdd_preprocess_tensors ##", LOOK, "no"),
    ("## sdd_wait_tensors ##", LOOK, "yes"),
    ("[splits_dist]_[ebc]_[row_wise]", LOOK, "no"),
    ("[tensors_dist]_[ebc]_[row_wise]", LOOK, "no"),
    ("[lookup]_[ebc]_[row_wise]", LOOK, "no"),
    ("[output_dist]_[ebc]_[row_wise]", LOOK, "no"),
    ("[output_dist_wait]_[ebc]_[row_wise]", LOOK, "yes"),
    ("## all2all_data:kjt splits ##", LOOK, "no"),
    ("## all2all_data:kjt values ##", LOOK, "no"),
    ("## all2all_data:kjt lengths ##", LOOK, "no"),
    ("## all2all_data:recat_permute_gen ##", LOOK, "no"),
    ("## all2all_pooled ##", LOOK, "no"),
    ("## all2all_sequence ##", LOOK, "no"),
    ("## All2All_Pooled_fwd ##", LOOK, "no"),
    ("## All2All_Seq_fwd ##", LOOK, "no"),
    ("## alltoall_fwd_single ##", LOOK, "no"),
    ("All2All_Pooled_Req", LOOK, "no"),
    ("All2All_Pooled_Wait", LOOK, "yes"),
    ("## EmbeddingBagCollectionAwaitable wait() ##", LOOK, "yes"),
    ("## PooledEmbeddingsAwaitable wait() ##", LOOK, "yes"),
    ("## SequenceEmbeddingsAwaitable wait() ##", LOOK, "yes"),
    ("## VariableBatchPooledEmbeddingsAwaitable wait() ##", LOOK, "yes"),
    ("## KJTAllToAllSplitsAwaitable wait() ##", LOOK, "yes"),
    ("## KJTListAwaitable wait() ##", LOOK, "yes"),
    ("## SplitsAllToAllAwaitable wait() ##", LOOK, "yes"),
    ("## TensorAllToAllValuesAwaitable wait() ##", LOOK, "yes"),
    ("## DisaggregatedTowerArchAwaitable wait() ##", None, "yes"),
    ("## Request wait() ##", None, "yes"),
    ("## All2All_Pooled_bwd ##", EUPD, "no"),
    ("## All2All_Seq_bwd ##", EUPD, "no"),
    ("## alltoall_bwd_single ##", EUPD, "no"),
    ("All2All_Pooled_WaitBackward", EUPD, "no"),
    ("All2All_Pooled_ReqBackward", EUPD, "no"),
    (NODE + "All2All_Pooled_WaitBackward", EUPD, "no"),
    # torchrec, one pipeline each
    ("## sharded_module_prefetch 22 ##", LOOK, "no"),
    ("## _prefetch_embeddings ebc.user: 22 ##", LOOK, "no"),
    ("## start_embedding_lookup 22 ##", LOOK, "no"),
    ("## emb_backward 21 ##", EUPD, "no"),
    ("## backward_hook over.arch ##", DUPD, "no"),
    ("## Pipeline Stage 1 : start_sparse_data_dist for batch 7 ##", LOOK, "no"),
    ("## Pipeline Stage 0 : copy_batch_to_gpu for batch 8 ##", PRE, "no"),
    ("## Pipeline Stage 2 : ## wait_sparse_data_dist ## for batch 7 ##", LOOK, "yes"),
    ("## Pipeline Stage 3 : fwd for batch 7 ##", FWD, "no"),
    ("## pec_nol_grad_a2a ##", EUPD, "no"),
    ("## pec_ol_grad_apply ##", EUPD, "no"),
    ("## pec_ol_compute ##", LOOK, "no"),
    ("## pec_overlap_dist ##", LOOK, "no"),
    ("## dmp_collection_sync ##", EUPD, "no"),
    ("## 2d_allgather_fully_sharded ##", EUPD, "no"),
    # FBGEMM
    ("torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", EUPD, "no"),
    (NODE + "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", EUPD, "no"),
    ("torch::autograd::CppNode<SplitLookupFunction_Dense_Op>", BWD, "no"),
    (NODE + "torch::autograd::CppNode<SplitLookupFunction_Dense_Op>", BWD, "no"),
    ("## ssd_prefetch 4 ##", LOOK, "no"),
    ("## ssd_tbe_lxu_cache_lookup ##", LOOK, "no"),
    ("## uvm_lookup_prefetched_rows 3 tables ##", LOOK, "no"),
    ("## ssd_evict_rows ##", EUPD, "no"),
    ("## ssd_stream_sync ##", EUPD, "no"),
    # RecSDK
    ("## get_next_batch ##", PRE, "no"),
    ("## _copy_to_npu ##", PRE, "no"),
    ("## start_sparse_data_dist ##", LOOK, "no"),
    ("## wait_sparse_data_dist ##", LOOK, "yes"),
    ("## _post_input_dist ##", LOOK, "no"),
    ("## _fuse_input_dist_splits ##", LOOK, "no"),
    ("## start_compute_swap_info ##", LOOK, "no"),
    ("## _compute_swap_info_async ##", LOOK, "no"),
    ("## wait_and_get_swap_info ##", LOOK, "yes"),
    ("## host_embedding_lookup_async ##", LOOK, "no"),
    ("## restore ##", LOOK, "no"),
    ("## swapin_embs_optims_to_npu ##", LOOK, "no"),
    ("## embedding_lookup_async get in initiate_swap_in ##", LOOK, "yes"),
    ("## wait_and_swapin ##", LOOK, "no"),
    ("## wait input_dist_tensors_requests ##", LOOK, "yes"),
    ("## swap_out ##", EUPD, "no"),
    ("## _host_embedding_update ##", EUPD, "no"),
    ("## wait wait_host_update ##", EUPD, "yes"),
    ("## feature_evict ##", EUPD, "no"),
    ("DynamicEmbeddingFunctionV2", LOOK, "no"),
    ("DynamicEmbeddingFunctionV2Backward", EUPD, "no"),
    (NODE + "DynamicEmbeddingFunctionV2Backward", EUPD, "no"),
    # generative recommenders, recsys-examples, DLRM
    ("## preprocess ##", FWD, "no"),
    ("## main_forward ##", FWD, "no"),
    ("## user_forward ##", FWD, "no"),
    ("## item_forward ##", FWD, "no"),
    ("## multitask_module ##", FWD, "no"),
    ("hstu", FWD, "no"),
    ("hstu_input_preprocessor", FWD, "no"),
    ("## stu_attention ##", FWD, "no"),
    ("get_item_from_queue", PRE, "yes"),
    ("data batching", PRE, "no"),
    ("sparse forward", LOOK, "no"),
    ("dense forward", FWD, "no"),
    ("## copy_batch_to_gpu_and_shuffle 23 ##", PRE, "no"),
    ("## H2D and shuffle ##", PRE, "no"),
    ("## start_kk_async ##", PRE, "no"),
    ("## finish_shuffle ##", PRE, "no"),
    ("## global_tokens ##", FWD, "no"),
    ("## loss postprocess ##", FWD, "no"),
    ("## finalize_model_grads ##", BWD, "no"),
    ("## prefetch ##", LOOK, "no"),
    ("## input_dist ##", LOOK, "no"),
    ("DLRM forward", FWD, "no"),
    ("DLRM backward", BWD, "no"),
    # what waits for anything
    ("future.result", None, "yes"),
    ("Future.wait", None, "yes"),
    ("result", None, "yes"),
    ("wait", None, "yes"),
    ("join", None, "yes"),
    ("sparse_optimizer.step", EUPD, "no"),
]

OPERATOR_NAMES = [
    ("aten::embedding", LOOK, "no"),
    ("aten::embedding_bag", LOOK, "no"),
    ("aten::_embedding_bag", LOOK, "no"),
    ("aten::_embedding_bag_forward_only", LOOK, "no"),
    ("aten::embedding_dense_backward", BWD, "no"),
    ("aten::_embedding_bag_dense_backward", BWD, "no"),
    ("EmbeddingDenseGrad", BWD, "no"),
    ("fbgemm::split_embedding_codegen_lookup_adagrad_function", LOOK, "no"),
    ("fbgemm::split_embedding_codegen_lookup_adagrad_function_pt2", LOOK, "no"),
    ("fbgemm::dense_embedding_codegen_lookup_function", LOOK, "no"),
    ("SplitEmbeddingCodegenForwardUnweighted", LOOK, "no"),
    ("BackwardCodegenAdagradUnweightedExact", EUPD, "no"),
    ("BlockBucketizeSparseFeatures", LOOK, "no"),
    ("Permute2dSparseData", LOOK, "no"),
    ("HstuDenseForward", FWD, "no"),
    ("GetNext", PRE, "yes"),
    ("EmbeddingLookupByAddress", LOOK, "no"),
    ("EmbeddingUpdateByAddress", EUPD, "no"),
    ("LazyAdam", EUPD, "no"),
]

TOKEN_NAMES = [
    ("feature_transform", PRE, "no"),
    ("collate", PRE, "no"),
    ("default.collate", PRE, "no"),
    ("input_copy", PRE, "no"),
    ("batch_to_device", PRE, "no"),
    ("prefetch_worker.data", PRE, "no"),
    ("embedding.prepare", LOOK, "no"),
    ("embedding.relocate", LOOK, "no"),
    ("embedding.all2all", LOOK, "no"),
    ("hash_find", LOOK, "no"),
    ("hash_insert", LOOK, "no"),
    ("hash_lookup", LOOK, "no"),
    ("cached embedding_lookup", LOOK, "no"),
    ("embedding_forward", LOOK, "no"),
    ("prefetch_worker.embedding", LOOK, "no"),
    ("wait_all2all", LOOK, "yes"),
    ("wait_prepare", LOOK, "yes"),
    ("prefetch.result", LOOK, "yes"),
    ("pipeline.forward", FWD, "no"),
    ("pipeline/forward", FWD, "no"),
    ("model_forward 3", FWD, "no"),
    ("pipeline.backward", BWD, "no"),
    ("loss.backward", BWD, "no"),
    ("optimizer.step", DUPD, "no"),
    ("Optimizer.step", DUPD, "no"),
    ("zero_grad", DUPD, "no"),
    ("embedding_backward", EUPD, "no"),
    ("emb_backward", EUPD, "no"),
    ("all2all_grad", EUPD, "no"),
    ("table_update", EUPD, "no"),
    ("table_update.upsert", EUPD, "no"),
    ("user_table_upsert", EUPD, "no"),
]


@pytest.mark.parametrize(("name", "phase", "wait"), ANCHORED_NAMES)
def test_name_of_a_framework_tells_its_phase(name: str, phase: str | None, wait: str) -> None:
    assert told(name) == (phase, wait, "anchored")


@pytest.mark.parametrize(("name", "phase", "wait"), OPERATOR_NAMES)
def test_operator_tells_its_phase(name: str, phase: str, wait: str) -> None:
    assert told(name) == (phase, wait, "operator")


@pytest.mark.parametrize(("name", "phase", "wait"), TOKEN_NAMES)
def test_last_word_of_free_text_tells_its_phase(name: str, phase: str, wait: str) -> None:
    assert told(name) == (phase, wait, "token")


@pytest.mark.parametrize(
    "name",
    [
        "torch.distributed.ddp.reducer::search_unused_parameters",
        "c10d::allreduce_",
        "HcclAllreduce",
        "c10d::alltoall_base_",
        "HcclAlltoAllV",
        "HcclAlltoAll",
        "hccl:alltoall_coalesced",
        "hccl:coalesced",
        "Enqueue",
        "Enqueue@aclnnAdd",
        "Dequeue@aclnnAdd",
        "record_event",
        "wait_event",
        "acl_memcpy_host_to_device",
        "empty_tensor",
        "aclnnAdd",
        "aclnnEmbeddingLookup",
        "contiguous_h_match",
        "AsynchronousCompleteCumsum",
        "ModelExecute",
        "InputCopy",
        "OutputCopy",
        "InferShape",
        "Tiling",
        "StreamSync",
        "step_info",
        "## NoWait wait() ##",
        "## recmetrics_update ##",
        "## Pipeline Stage 1 : my_stage for batch 7 ##",
    ],
)
def test_name_without_a_claim_inherits(name: str) -> None:
    assert found(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep#12",
        "aten::_to_copy",
        "data_ptr",
        "database_load",
        "database_query",
        "find_unused_parameters",
        "pathfinder",
        "hash_seed_check",
        "hash_table",
        "hash",
        "embedding",
        "user_embedding",
        "embedding_dim_assert",
        "loss.item",
        "aten::mse_loss",
        "aten::binary_cross_entropy_loss",
        "embedding_prefetch",
        "hstu_prefetch.py",
        "/srv/model_prefetch/data",
        "ssd_prefetch.cpp: result",
        "Embedding_prefetch_Result",
        "BatchPrefetcher_data",
        "mul_out",
        "aten::mul_out",
        "LRScheduler.step",
        "optimizer_scheduler.step",
        "metric.update",
        "log_step",
        "step",
        "backward_compat_shim",
        "aten::embedding_renorm_",
        "my_ext::hash_find",
        "## my collate ##",
        "[my]_[module]_[collate]",
        "HcclCollate_prepare",
        "",
    ],
)
def test_look_alike_claims_nothing(name: str) -> None:
    assert found(name) is None


@pytest.mark.parametrize("name", ["Optimizer.zero_grad#SGD.zero_grad", "## zero_grad ##", "zero_grad"])
def test_zero_grad_is_no_backward(name: str) -> None:
    assert told(name)[0] == DUPD


@pytest.mark.parametrize("name", ["## preprocess ##", "hstu_input_preprocessor"])
def test_preprocessing_inside_of_the_model_loads_no_data(name: str) -> None:
    assert told(name)[0] == FWD


@pytest.mark.parametrize("module", ["backward_embedding", "optimizer.step", "data_collate", "zero_grad"])
def test_name_of_a_module_in_brackets_is_not_searched(module: str) -> None:
    assert told(f"[lookup]_[{module}]_[table_wise]")[0] == LOOK


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        (NODE + "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", True),
        ("DynamicEmbeddingFunctionV2Backward", True),
        ("torch::autograd::CppNode<SplitLookupFunction_Dense_Op>", False),
        ("All2All_Pooled_ReqBackward", False),
        ("EmbeddingBackward0", False),
    ],
)
def test_only_a_fused_backward_writes_the_table(name: str, writes: bool) -> None:
    rule = found(name)
    assert rule is not None
    assert rule.writes_table is writes


def test_backward_hook_counts_only_around_an_optimizer_step() -> None:
    rule = found("## backward_hook ebc ##")
    assert rule is not None
    assert rule.holds == r"^Optimizer\.step#"


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("## copy_batch_to_gpu 23 ##", "data"),
        ("## load batch 5 from dataloader (host) ##", "data"),
        ("## start_sparse_data_dist 22 ##", "input_dist"),
        ("## wait_sparse_data_dist 22 ##", "dist_wait"),
        ("## sharded_module_prefetch 22 ##", "lookup"),
        ("## start_embedding_lookup 22 ##", "lookup"),
        ("## forward 21 ##", "train"),
        ("## backward 21 ##", "train"),
        ("## optimizer 20 ##", None),
        ("## wait_for_batch 21 ##", None),
        ("## Pipeline Stage 1 : start_sparse_data_dist for batch 7 ##", "input_dist"),
    ],
)
def test_batch_index_tells_the_depth_of_a_stage(name: str, stage: str | None) -> None:
    rule = found(name)
    assert rule is not None
    assert rule.stage == stage


# ---------------------------------------------------------------------------------- all at once


def test_built_in_rules_stand_in_the_order_of_their_strength() -> None:
    strengths = [STRENGTHS.index(rule.strength) for rule in load_rules().entries]
    assert strengths == sorted(strengths)


def test_built_in_rules_are_whole() -> None:
    entries = load_rules().entries
    assert len({rule.id for rule in entries}) == len(entries)
    for rule in entries:
        assert rule.phase in {*PHASES, None, "unclassified"}, rule.id
        assert rule.phase or rule.wait == "yes", rule.id
        assert rule.wait in WAITS, rule.id
        assert rule.stage in {*STAGES, STAGE_TRAIN, None}, rule.id
        assert rule.source, rule.id
        assert rule.frameworks, rule.id
        assert (rule.pattern is None) == (rule.strength == "token") == bool(rule.heads), rule.id
        assert rule.strength != "anchored" or (rule.pattern or "").startswith("^"), rule.id


def test_built_in_entries_have_no_key_that_a_user_may_not_use(tmp_path: Path) -> None:
    lines = []
    for entry in load_toml("analysis.phases", "rules.toml")["rules"]:
        lines.append("[[rules]]")
        for key, value in entry.items():
            text = f"'''{value}'''" if isinstance(value, str) else str(value).replace("True", "true")
            lines.append(f"{key} = {text}")
    file = tmp_path / "all.toml"
    file.write_text("\n".join(lines))
    assert all(rule.user for rule in load_rules(file).entries)


def test_a_hundred_thousand_names_are_put_in_their_places_at_once() -> None:
    samples = [name for name, *_ in (*ANCHORED_NAMES, *OPERATOR_NAMES, *TOKEN_NAMES)]
    rules = load_rules()
    expected = rules.matches(pl.Series(samples))
    assert (expected >= 0).all()
    fillers = [f"my_ops::kernel_{number}" for number in range(100_000 - len(samples))]
    names = pl.Series([*fillers[:50_000], *samples, *fillers[50_000:]])
    places = rules.matches(names)
    assert places.dtype == np.int32
    assert places[50_000 : 50_000 + len(samples)].tolist() == expected.tolist()
    assert (np.delete(places, slice(50_000, 50_000 + len(samples))) == -1).all()


def test_missing_name_matches_nothing() -> None:
    assert load_rules().matches(pl.Series([None, "collate"], dtype=pl.String)).tolist()[0] == -1


def test_no_names_have_no_places() -> None:
    assert load_rules().matches(pl.Series([], dtype=pl.String)).tolist() == []


@pytest.mark.parametrize("name", ["预处理.collate", "[red]collate", "x" * 10_000, "\x1b[31mstep", "a\nb"])
def test_any_characters_may_stand_in_a_name(name: str) -> None:
    assert load_rules().matches(pl.Series([name])).size == 1


# ------------------------------------------------------------------------------------ device syncs


@pytest.mark.parametrize(
    "name",
    [
        "aten::item",
        "aten::_local_scalar_dense",
        "AscendCL@aclrtSynchronizeStream",
        "AscendCL@aclrtSynchronizeStreamWithTimeout",
        "AscendCL@aclrtSynchronizeDevice",
        "aclrtSynchronizeEvent",
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "torch.npu.synchronize",
        "synchronize",
    ],
)
def test_call_that_blocks_until_the_device_is_done_is_a_sync(name: str) -> None:
    assert load_rules().syncs(pl.Series([name])).tolist() == [True]


@pytest.mark.parametrize(
    "name",
    ["loss.item", "aten::item_size", "record_event", "wait_event", "synchronize_tables", "aclrtMemcpy", None],
)
def test_other_call_is_no_sync(name: str | None) -> None:
    assert load_rules().syncs(pl.Series([name], dtype=pl.String)).tolist() == [False]


# ---------------------------------------------------------------------------------- batch indices


@pytest.mark.parametrize(
    ("name", "marked", "index"),
    [
        ("## forward 21 ##", "## forward {i} ##", 21),
        ("## optimizer -1 ##", "## optimizer {i} ##", -1),
        ("## _prefetch_embeddings ebc2: 21 ##", "## _prefetch_embeddings ebc2: {i} ##", 21),
        ("## Pipeline Stage 2 : fwd for batch 7 ##", "## Pipeline Stage 2 : fwd for batch {i} ##", 7),
        ("## load batch 5 from dataloader (host) ##", "## load batch {i} from dataloader (host) ##", 5),
        ("pipeline.forward 9", "pipeline.forward {i}", 9),
        ("load batch 12", "load batch {i}", 12),
        ("## forward ##", "## forward ##", None),
        ("layer 3", "layer 3", None),
        ("ProfilerStep#12", "ProfilerStep#12", None),
        ("## 2d_allgather_fully_sharded ##", "## 2d_allgather_fully_sharded ##", None),
        ("## all2all_data:kjt splits ##", "## all2all_data:kjt splits ##", None),
        ("Group 3 batch_7", "Group 3 batch_7", None),
        (f"## forward {'9' * 30} ##", f"## forward {'9' * 30} ##", None),
        (None, None, None),
    ],
)
def test_batch_index_is_found_and_marked(name: str | None, marked: str | None, index: int | None) -> None:
    names = pl.Series("name", [name], dtype=pl.String)
    assert with_index_marks(names).to_list() == [marked]
    found_index = batch_indices(names)
    assert found_index.dtype == pl.Int64
    assert found_index.to_list() == [index]


# ------------------------------------------------------------------------------ rules of the user


def user(tmp_path: Path, text: str) -> Rules:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return load_rules(file)


def test_user_adds_a_name(tmp_path: Path) -> None:
    rules = user(tmp_path, "[[rules]]\nid = 'mine'\npattern = '^tick$'\nphase = 'forward'")
    rule = found("tick", rules)
    assert rule is not None
    assert (rule.id, rule.phase, rule.wait, rule.strength) == ("mine", FWD, "no", "anchored")
    assert (rule.source, rule.user) == ("mine.toml", True)


def test_a_file_from_an_editor_that_marks_its_encoding_is_read(tmp_path: Path) -> None:
    text = "\ufeff[[rules]]\r\nid = 'mine'\r\npattern = '^tick$'\r\nphase = 'forward'\r\n"
    assert user(tmp_path, text).entries[0].id == "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [("x = " + "[" * 20_000, "nested too deeply"), ("#" * 300_000, "larger than a file of rules may be")],
)
def test_a_file_that_no_one_wrote_is_refused(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        user(tmp_path, text)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="not a file"):
        load_rules(tmp_path / "fifo")


def test_user_adds_a_word(tmp_path: Path) -> None:
    rules = user(
        tmp_path,
        "[[rules]]\nid = 'mine'\nheads = ['fetch']\ncompanions = ['row']\nphase = 'embedding_lookup'",
    )
    rule = found("row_cache.fetch", rules)
    assert rule is not None
    assert (rule.id, rule.strength) == ("mine", "token")
    assert found("cache.fetch", rules) is None


def test_user_adds_a_wait_of_unknown_phase(tmp_path: Path) -> None:
    rule = found("gate", user(tmp_path, "[[rules]]\nid = 'mine'\npattern = '^gate$'\nwait = 'yes'"))
    assert rule is not None
    assert (rule.phase, rule.wait) == (None, "yes")


def test_user_decides_before_every_built_in_rule(tmp_path: Path) -> None:
    rules = user(tmp_path, "[[rules]]\nid = 'mine'\npattern = 'forward'\nphase = 'backward'")
    for name in ("## forward 3 ##", "pipeline.forward"):
        rule = found(name, rules)
        assert rule is not None
        assert rule.id == "mine"


def test_first_rule_of_the_file_decides(tmp_path: Path) -> None:
    text = "[[rules]]\nid = '{}'\npattern = '^tick'\nphase = '{}'\n"
    rules = user(tmp_path, text.format("one", FWD) + text.format("two", BWD))
    rule = found("tick", rules)
    assert rule is not None
    assert rule.id == "one"


def test_entry_with_a_known_id_replaces_the_built_in_rule(tmp_path: Path) -> None:
    rules = user(
        tmp_path, "[[rules]]\nid = 'dlrm.forward'\npattern = '^DLRM fwd$'\nphase = 'forward'\nwait = 'yes'"
    )
    assert found("DLRM forward", rules) is None
    rule = found("DLRM fwd", rules)
    assert rule is not None
    assert rule.wait == "yes"
    assert len(rules.entries) == len(load_rules().entries)


@pytest.mark.parametrize(
    ("rule_id", "name"), [("dlrm.forward", "DLRM forward"), ("seed.upsert", "table.upsert")]
)
def test_replacing_entry_without_names_takes_those_of_the_built_in_rule(
    rule_id: str, name: str, tmp_path: Path
) -> None:
    rule = found(name, user(tmp_path, f"[[rules]]\nid = '{rule_id}'\nphase = 'backward'"))
    assert rule is not None
    assert (rule.id, rule.phase, rule.user) == (rule_id, BWD, True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("id = 'seed.collate'", "collate"),
        ("id = 'mine'\npattern = '^tokenizer\\.collate$'", "tokenizer.collate"),
        ("id = 'torchrec.next_batch'", "## next_batch ##"),
    ],
)
def test_user_switches_names_off(text: str, name: str, tmp_path: Path) -> None:
    assert found(name) is not None
    assert found(name, user(tmp_path, f"[[rules]]\n{text}\nphase = 'unclassified'")) is None


def test_users_rule_sees_the_whole_name_of_a_stage(tmp_path: Path) -> None:
    rules = user(tmp_path, "[[rules]]\nid = 'mine'\npattern = 'Stage 2 : fwd '\nphase = 'embedding_lookup'")
    rule = found("## Pipeline Stage 2 : fwd for batch 7 ##", rules)
    assert rule is not None
    assert rule.id == "mine"


GOOD = "[[rules]]\nid = 'mine'\npattern = '^x$'\nphase = 'forward'\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rules", "not TOML: "),
        ("", "no [[rules]]"),
        ("rules = 3", "no [[rules]]"),
        ("rules = [1]", "no [[rules]]"),
        ("rules = []", "no [[rules]]"),
        (GOOD + "[sync]\npattern = 'x'", "unknown table 'sync'; there is [[rules]] only"),
        (GOOD + "colour = 'red'", "rule 'mine': unknown key 'colour'; there are id, pattern,"),
        ("[[rules]]\npattern = 'x'\nphase = 'forward'", "rule 1: no id"),
        ("[[rules]]\nid = 3\npattern = 'x'\nphase = 'forward'", "rule 1: id is no string"),
        (GOOD + GOOD, "rule 'mine': this id is there twice"),
        (
            "[[rules]]\nid = 'mine'\npattern = 'x'\nphase = 'fwd'",
            "rule 'mine': unknown phase 'fwd'; there are data_preprocessing,",
        ),
        ("[[rules]]\nid = 'mine'\npattern = 'x'", "rule 'mine': no phase; there are data_preprocessing,"),
        (GOOD + "wait = 'maybe'", "unknown wait 'maybe'; there are no, yes, if_long"),
        (GOOD + "wait = true", "wait is no string"),
        (GOOD + "strength = 'sure'", "unknown strength 'sure'"),
        (GOOD + "strength = 'token'", "strength 'token' goes with heads"),
        (
            GOOD + "stage = 'early'",
            "unknown stage 'early'; there are data, input_dist, dist_wait, lookup, train",
        ),
        (GOOD + "writes_table = 'yes'", "writes_table is neither true nor false"),
        (GOOD + "frameworks = 'x'", "frameworks is no list of strings"),
        (GOOD + "heads = ['x']", "give a pattern or heads, not both"),
        (GOOD + "companions = ['x']", "companions without heads"),
        ("[[rules]]\nid = 'mine'\nphase = 'forward'", "rule 'mine': no pattern and no heads"),
        ("[[rules]]\nid = 'mine'\npattern = ''\nphase = 'forward'", "rule 'mine': no pattern and no heads"),
        (
            "[[rules]]\nid = 'mine'\npattern = '('\nphase = 'forward'",
            "rule 'mine': bad pattern: unclosed group",
        ),
        (
            "[[rules]]\nid = 'mine'\npattern = 'a(?=b)'\nphase = 'forward'",
            "rule 'mine': bad pattern: look-around,",
        ),
        (
            "[[rules]]\nid = 'mine'\npattern = '(a{9999}){9999}'\nphase = 'forward'",
            "rule 'mine': bad pattern: Compiled regex exceeds size limit",
        ),
        (GOOD + "holds = '['", "rule 'mine': bad holds: unclosed character class"),
        (
            "[[rules]]\nid = 'mine'\nheads = ['all-2']\nphase = 'forward'",
            "rule 'mine': 'all-2' is no token: lower-case letters and digits, not digits alone",
        ),
        ("[[rules]]\nid = 'a\\nb'\npattern = 'x'\nphase = 1", "rule 'a\\\\nb': phase is no string"),
    ],
)
def test_bad_file_is_told_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told_error:
        user(tmp_path, text)
    message = str(told_error.value)
    assert message.startswith(f"{tmp_path / 'mine.toml'}: ")
    assert says in message
    assert len(message.splitlines()) == 1


def test_file_in_another_encoding_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes("# 阶段".encode("utf-16"))
    with pytest.raises(UsageError, match=r"mine\.toml: not TOML: .*utf-8"):
        load_rules(tmp_path / "mine.toml")


def test_missing_file_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: No such file or directory$"):
        load_rules(tmp_path / "none.toml")


def test_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a file$"):
        load_rules(tmp_path)


@pytest.mark.parametrize("phase", [PRE, LOOK, EUPD, DUPD])
@pytest.mark.parametrize("form", ["{}", "## {} ##", "## {} 12 ##", "{} 3"])
def test_the_word_for_a_phase_is_a_name_of_it(phase: str, form: str) -> None:
    assert told(form.format(phase)) == (phase, "no", "anchored")


@pytest.mark.parametrize(
    "name", ["## embedding_lookup_cache ##", "my_dense_update_hook", "embedding_lookup.py"]
)
def test_a_name_that_merely_holds_the_word_for_a_phase_is_none(name: str) -> None:
    assert found(name) is None


def test_a_wait_cannot_be_switched_off_and_wait(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[rules]]\nid = 'mine'\npattern = '^x$'\nphase = 'unclassified'\nwait = 'yes'")
    with pytest.raises(UsageError, match="switches names off"):
        load_rules(file)


def test_every_note_stands_in_both_languages() -> None:
    entries = load_rules().entries
    assert any(rule.note for rule in entries)
    assert [rule.id for rule in entries if bool(rule.note) != bool(rule.note_zh)] == []


def test_a_rule_of_the_user_needs_no_chinese_note(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    rule = '[[rules]]\nid = "{}"\npattern = "^{}$"\nphase = "forward"\nnote = "mine"\n'
    path.write_text(rule.format("mine.a", "a") + rule.format("mine.b", "b") + 'note_zh = "我的"\n', "utf-8")
    assert [(rule.note, rule.note_zh) for rule in load_rules(path).entries[:2]] == [
        ("mine", None),
        ("mine", "我的"),
    ]
